"""Ways from a label to values, one strategy per file."""
