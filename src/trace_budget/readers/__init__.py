"""One file = one format."""
