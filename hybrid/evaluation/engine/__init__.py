"""Shared computations: encoding, nearest neighbours, counting, predicates, intervals."""
