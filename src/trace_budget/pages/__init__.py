"""One file = one picture or page: the numbers that are drawn."""
