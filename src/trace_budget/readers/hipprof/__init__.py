"""hipprof, the profiler of Hygon's DTK."""
