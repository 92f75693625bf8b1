"""Scripts of the project's own supply chain: locks, licences, bill of materials."""
