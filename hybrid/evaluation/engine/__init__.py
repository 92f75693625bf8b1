"""What metrics share: encoding, nearest neighbours, predicates, intervals."""
