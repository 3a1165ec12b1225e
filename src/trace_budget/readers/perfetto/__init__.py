"""Perfetto traces of GPU profilers."""
