"""One file = one question about a trace."""
