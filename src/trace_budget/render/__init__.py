"""One file = one output."""
