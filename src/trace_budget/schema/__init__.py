"""The declared tables, the Trace and the Report, and what a user can ask for.

Called, it answers the question of its name: `trace_budget.schema()` says what the tables hold.
"""

from __future__ import annotations

import sys
from types import ModuleType


class _Room(ModuleType):
    """The package as the function that the command `schema` has in Python."""

    def __call__(self) -> object:
        from importlib import import_module

        return import_module("trace_budget.questions.schema").schema()


sys.modules[__name__].__class__ = _Room
