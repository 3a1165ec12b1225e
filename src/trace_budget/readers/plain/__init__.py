"""Plain tables, which any profiler of one's own can write."""
