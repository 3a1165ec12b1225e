"""Calls and imports that the package does without: row by row work, code from data, printing."""

import ast
from pathlib import Path

import pytest

from house.source_tree import modules, name_of, tree

METHODS = {"iter_rows", "map_elements", "map_rows", "apply", "iterrows", "itertuples"}
FUNCTIONS = {"eval", "exec", "print", "input", "breakpoint"}
IMPORTS = {"pickle", "marshal", "shelve", "dill", "joblib"}
HEAVY = {"polars", "pandas", "pyarrow", "numpy"}


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_no_forbidden_call(path: Path) -> None:
    calls = [node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
    methods = {func.attr for func in calls if isinstance(func, ast.Attribute)} & METHODS
    functions = {func.id for func in calls if isinstance(func, ast.Name)} & FUNCTIONS
    assert (methods, functions) == (set(), set())


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_no_forbidden_import(path: Path) -> None:
    assert imported(tree(path)) & IMPORTS == set()


@pytest.mark.parametrize("path", [path for path in modules() if path.parent.name in ("cli", "questions")], ids=name_of)
def test_commands_import_nothing_heavy_when_they_are_loaded(path: Path) -> None:
    at_load = ast.Module([node for node in tree(path).body if not isinstance(node, ast.If | ast.FunctionDef)], [])
    assert imported(at_load) & HEAVY == set()


def imported(module: ast.Module) -> set[str]:
    """The top-level packages a module imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names
