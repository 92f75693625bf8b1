"""Anonymize, then synthesize: release tables about people with the evidence beside them."""
