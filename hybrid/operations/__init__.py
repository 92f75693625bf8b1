"""What surrounds a night: drift of the source, delivery, notices."""
