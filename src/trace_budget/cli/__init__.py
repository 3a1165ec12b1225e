"""One file = one command."""
