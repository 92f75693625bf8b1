"""Parts that strategies share: domains, donor records, counts, draws."""
