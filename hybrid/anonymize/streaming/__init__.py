"""Anonymize Parquet files larger than memory, batch by batch."""
