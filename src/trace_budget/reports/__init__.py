"""One file = how one answer becomes a Report."""
