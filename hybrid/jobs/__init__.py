"""What a user starts: one module per job."""
