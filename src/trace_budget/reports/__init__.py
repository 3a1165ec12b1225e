"""One file = how the answer to one question becomes a Report."""
