"""The code blocks of the docs: which there are, and what each says about how it is tested.

A block is run when its fence says ```` ```sh ````, ```` ```python ```` or ```` ```sql ````. What stands behind the
language changes that:

- `sh no-run`: it needs a card, an engine or a service that is not here; its trace-budget commands are still parsed.
- `text output`: what the run block before it prints. A line `...` stands for any lines.
- `toml NAME`, `text NAME`: a file that later blocks of the page read. `sql NAME`: a query to run on that file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
READMES = (ROOT / "README.md", ROOT / "README.zh-CN.md")
PAGES = (*READMES, *sorted((ROOT / "docs").rglob("*.md")))
RUN = ("sh", "python", "sql")
SHOWN = ("text", "json", "csv")
FRESH_CLONE = "python3 -m venv "
# What a block must name to be allowed not to run: programs, services and libraries that a test machine lacks.
ELSEWHERE = (
    *("vllm serve", "curl ", "sglang", "rocprof", "hipprof", "nsys ", "runTracer.sh", "rpdTracerControl"),
    *("pip install", "dask ", "srun ", "s3://", "--scheduler", "spark.read", "source_bash", "--install-completion"),
    "dask_jobqueue",
    "import ray",
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; `line` is that of its first line of text."""

    page: Path
    line: int
    language: str
    marks: tuple[str, ...]
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def is_fresh_clone(self) -> bool:
        """The commands that `.ci/run` takes out of the README and runs in a fresh clone."""
        return self.page in READMES and self.text.startswith(FRESH_CLONE)

    @property
    def is_file(self) -> bool:
        return self.language in {"toml", "text"} and self.marks not in {(), ("output",)}

    @property
    def is_run(self) -> bool:
        return self.language in RUN and "no-run" not in self.marks and not self.is_fresh_clone


@cache
def blocks(page: Path) -> tuple[Block, ...]:
    """The fenced blocks of a page, those of list items too, in order."""
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    fences = [token for token in tokens if token.type == "fence"]
    return tuple(_block(page, token.map[0] + 2, token.info, token.content) for token in fences if token.map)


def _block(page: Path, line: int, info: str, text: str) -> Block:
    language, *marks = info.split() or [""]
    return Block(page, line, language, tuple(marks), text)


def name_of(page: Path) -> str:
    """The page as shown in a failure."""
    return str(page.relative_to(ROOT))
