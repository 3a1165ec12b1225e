"""Every module has its caption, every public function and class its sentence."""

import ast
from pathlib import Path

import pytest

from house.source_tree import ROOMS, modules, name_of, tree


@pytest.mark.parametrize("path", modules(*ROOMS), ids=name_of)
def test_line_1_is_the_caption(path: Path) -> None:
    docstring = ast.get_docstring(tree(path)) or ""
    assert path.read_text(encoding="utf-8").startswith('"""')
    caption = docstring.splitlines()[0] if docstring else ""
    assert 10 <= len(caption) <= 120
    assert caption.endswith((".", "?", ":")) or "`" in caption


@pytest.mark.parametrize("path", modules("src"), ids=name_of)
def test_public_names_are_explained(path: Path) -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    public = [node for node in tree(path).body if isinstance(node, kinds) and not node.name.startswith("_")]
    assert [node.name for node in public if not ast.get_docstring(node)] == []
