"""Differential privacy: exact noise and the account of a budget.

The unit is the person: neighbouring tables differ in the presence of one person with all their rows.
"""
