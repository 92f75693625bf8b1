"""Jobs: one module per thing a user starts."""
