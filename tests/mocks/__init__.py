"""Tests of mock tables."""
