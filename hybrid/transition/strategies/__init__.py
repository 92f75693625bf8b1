"""Ways from a label to values, a strategy or a family of them in each file."""
