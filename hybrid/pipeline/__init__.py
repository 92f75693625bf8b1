"""One run: its configuration, its stages in order, and what they promise."""
