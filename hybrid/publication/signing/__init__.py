"""Signed certificates: in-toto statements in DSSE envelopes, and their keys."""
