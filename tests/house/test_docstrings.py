"""Every module has its caption, every public function and class its sentence."""

import ast
from pathlib import Path

from house.source_tree import ROOMS, modules, name_of, tree


def test_line_1_is_the_caption() -> None:
    found = {name_of(path): fault for path in modules(*ROOMS) if (fault := _fault_of_caption(path))}
    assert found == {}


def _fault_of_caption(path: Path) -> str:
    """What is wrong with the caption of a module, if anything."""
    docstring = ast.get_docstring(tree(path)) or ""
    if not docstring or not path.read_text(encoding="utf-8").startswith('"""'):
        return "no docstring on line 1"
    caption = docstring.splitlines()[0]
    if not 10 <= len(caption) <= 120:
        return f"{len(caption)} characters"
    return "" if caption.endswith((".", "?", ":")) or "`" in caption else "no end of a sentence"


def test_public_names_are_explained() -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [
        f"{name_of(path)}:{node.lineno}: {node.name}"
        for path in modules("src")
        for node in tree(path).body
        if isinstance(node, kinds) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert found == []
