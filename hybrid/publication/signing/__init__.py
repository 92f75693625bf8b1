"""Signatures of releases: in-toto statements in DSSE envelopes, and the keys behind them."""
