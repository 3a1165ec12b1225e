"""Runs the cells of docs/notebook.ipynb and writes it with what they give: `python docs/make/notebook_page.py`.

The cells stand here; no Jupyter is needed, neither to run them nor to test that the notebook is fresh.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "notebook.ipynb"
TRACE = DOCS.parent / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"
CELLS: tuple[tuple[str, str], ...] = (
    ("markdown", """# From a trace to a verdict

Which kernel, how much faster, is it worth it, can I trust it: the four questions, from Python. `decode.json.gz` is a
copy of `sample_traces/kineto/gdn_decode_gfx936.json.gz`; put a trace of yours in its place."""),
    ("code", """import polars as pl

import trace_budget as tb

trace = tb.open_trace("decode.json.gz")
tb.check(trace)"""),
    ("markdown", """## Which kernel

Every answer is a `Report`. `.table` is its rows as a Polars frame, one row a kernel; times are in us, `calls_per_step`
are calls of one step, shares are % of a token."""),
    ("code", """threshold = tb.threshold(trace)
rows = threshold.table.filter(pl.col("can") == "yes")
rows.select(pl.col("kernel").str.head(20), "calls_per_step", "ceiling_pct", "required_speedup")"""),
    ("code", """threshold.picture()"""),
    ("markdown", """The same in pandas, with what pandas can do: time a step by the first word of the name."""),
    ("code", """kernels = tb.kernels(trace).to_pandas()
family = kernels["kernel"].str.extract(r"([A-Za-z]+)", expand=False)
print(kernels.groupby(family)["us_per_step"].sum().sort_values(ascending=False).head(5).round(1).to_string())"""),
    ("markdown", """## How much faster, and is it worth it"""),
    ("code", """change = tb.Change(new_us=17.04, baseline_us=20.27, hit_rate=tb.Range(0.8, 1.0), overhead_us=0.1)
answer = tb.project(trace, "gdn_fused", change)
print(answer.text())"""),
    ("code", """answer.picture("waterfall")"""),
    ("markdown", """Figures stand in `.document`, under the keys of `--format json`: a sweep is a list of answers."""),
    ("code", """savings = (2.0, 4.0, 8.0)
answers = [tb.project(trace, "gdn_fused", tb.Change(saving_us=us)) for us in savings]
sweep = [{"saving_us": us, **one.document["pct"]} for us, one in zip(savings, answers, strict=True)]
pl.DataFrame(sweep).select("saving_us", "low", "expected", "high")"""),
    ("markdown", """## Can I trust it

`evidence` grades the six questions behind the figure, and the tornado says what each of them moves it by."""),
    ("code", """for question, said in answer.document["evidence"].items():
    print(question, said["grade"], said["text"])"""),
    ("code", """answer.picture("tornado")"""),
    ("markdown", """What cannot be answered is a `TraceBudgetError`, with the line that the command prints."""),
    ("code", """try:
    tb.project(trace, "gdn_fusd", change)
except tb.TraceBudgetError as error:
    print(error.exit_code, error.line())"""),
)  # fmt: skip


def page() -> str:
    """The notebook as JSON text (nbformat 4.5), each code cell with what it gives."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(TRACE, Path(folder) / "decode.json.gz")
        os.chdir(folder)
        try:
            cells = list(_cells())
        finally:
            os.chdir(before)
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    book = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _cells() -> Iterator[dict[str, object]]:
    names: dict[str, object] = {}
    for place, (kind, source) in enumerate(CELLS):
        cell: dict[str, object] = {
            "cell_type": kind, "id": f"cell-{place}", "metadata": {}, "source": source.splitlines(keepends=True)
        }  # fmt: skip
        yield {**cell, "execution_count": place, "outputs": _run(source, names, place)} if kind == "code" else cell


def _run(source: str, names: dict[str, object], place: int) -> list[dict[str, object]]:
    """What a cell prints, and the value of its last line if that is an expression."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), f"cell {place}", "exec"), names)  # noqa: S102  (our own cells)
        value = eval(compile(ast.Expression(last.value), f"cell {place}", "eval"), names) if last else None  # noqa: S307
    out: list[dict[str, object]] = []
    if printed.getvalue():
        out.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        out.append({"data": _shown(value), "execution_count": place, "metadata": {}, "output_type": "execute_result"})
    return out


def _shown(value: object) -> dict[str, list[str]]:
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    for kind, method in (("image/svg+xml", "_repr_svg_"), ("text/html", "_repr_html_")):
        if hasattr(value, method):
            data[kind] = getattr(value, method)().splitlines(keepends=True)
    return data


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
