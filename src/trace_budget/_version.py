"""The version, alone in a module without imports so that building needs nothing else."""

VERSION = "0.1.0"
