"""Local page to decide roles, verdicts and releases."""
