"""Calls and imports that the package does without: row by row work, code from data, printing."""

import ast

from house.source_tree import modules, name_of, tree

METHODS = {"iter_rows", "map_elements", "map_rows", "apply", "iterrows", "itertuples"}
FUNCTIONS = {"eval", "exec", "print", "input", "breakpoint"}
IMPORTS = {"pickle", "marshal", "shelve", "dill", "joblib"}
HEAVY = {"polars", "pandas", "pyarrow", "numpy"}


def test_no_forbidden_call() -> None:
    found = [
        f"{name_of(path)}:{node.lineno}: {_called(node)}"
        for path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and _called(node) in (METHODS if _is_method(node) else FUNCTIONS)
    ]
    assert found == []


def _is_method(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute)


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def test_no_forbidden_import() -> None:
    assert {name_of(path): found for path in modules() if (found := imported(tree(path)) & IMPORTS)} == {}


def test_commands_import_nothing_heavy_when_they_are_loaded() -> None:
    found = {}
    for path in modules():
        at_load = [node for node in tree(path).body if not isinstance(node, ast.If | ast.FunctionDef)]
        if path.parent.name in ("cli", "questions") and (names := imported(ast.Module(at_load, [])) & HEAVY):
            found[name_of(path)] = names
    assert found == {}


def imported(module: ast.Module) -> set[str]:
    """The top-level packages a module imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names
