"""Search for the generalization of least information loss."""
