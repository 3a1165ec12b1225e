"""Where the project's files lie, for the tests of the house rules."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "trace_budget"
ROOMS = ("src", "tests", "docs", "sample_traces", "benchmarks")
TEXTS = {".py", ".md", ".toml", ".txt", ".json", ".csv", ".js", ".cpp", ".sh", ""}


def modules(*rooms: str) -> list[Path]:
    """Every Python file of the given rooms (default: of the package)."""
    folders = [ROOT / room for room in rooms] or [SRC]
    return sorted(path for folder in folders for path in folder.rglob("*.py") if "egg-info" not in str(path))


def texts() -> Iterator[Path]:
    """Every file of the project that people read."""
    for room in ROOMS:
        yield from (path for path in (ROOT / room).rglob("*") if path.is_file() and _is_text(path))
    yield from (path for path in (*ROOT.glob("*.md"), ROOT / "pyproject.toml", ROOT / ".ci" / "run"))


def _is_text(path: Path) -> bool:
    return path.suffix in TEXTS and "__pycache__" not in path.parts and not any("egg-info" in p for p in path.parts)


@cache
def tree(path: Path) -> ast.Module:
    """The parsed module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    """The path as shown in a failure."""
    return str(path.relative_to(ROOT))


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a module, nested ones too."""
    return [node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
