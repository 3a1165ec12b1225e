"""Perfetto files: their outer packets, and trace_processor as a process of ours."""
