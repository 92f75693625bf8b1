"""Operations around a night: drift of the source, delivery, notices."""
