"""Descriptions of a release for people and machines, written from one object."""
