"""Dossier of a release: its facts under the headings that ethics committees and data protection officers tick."""
