"""What strategies share: domains, donor records, counts, draws."""
