"""Readings: what one pass, one step and one cycle of a trace can be, and what speaks for and against each."""
