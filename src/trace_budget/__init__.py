"""trace-budget: what does a faster kernel do end to end?"""

from trace_budget._version import VERSION as __version__

__all__ = ["__version__"]
