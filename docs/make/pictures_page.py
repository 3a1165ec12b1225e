"""Draws docs/pictures/*.svg from a trace of sample_traces/: `python docs/make/pictures_page.py`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from trace_budget import api, drawings
from trace_budget.projection.candidates import Candidate, CandidateSet, read_candidates
from trace_budget.questions import layers, project, rank, threshold
from trace_budget.schema.options import Change, Policy, Range, Scope, Selection, TokenInput

DOCS = Path(__file__).parents[1]
FOLDER = DOCS / "pictures"
TRACE = DOCS.parent / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"
FENCE = "```toml ideas.toml\n"


def pictures() -> Iterator[tuple[str, str]]:
    """The name and the SVG of each."""
    trace, scope, policy = api.open_trace(TRACE), Scope(), Policy()
    change = Change(saving_us=3.228, hit_rate=Range(0.8, 1.0), overhead_us=0.2)
    candidate = Candidate("", change, Selection("gdn_fused"))
    for figure in project.PICTURES:
        yield figure, drawings.svg(project.picture_of(trace, candidate, figure=figure))
    yield "rank", drawings.svg(rank.picture_of(trace, _candidates()))
    yield "threshold", drawings.svg(threshold.picture_of(trace, scope, TokenInput(), policy))
    yield "layer", drawings.svg(layers.picture_of(trace, scope, "gdn_fused"))


def _candidates() -> CandidateSet:
    """The candidate file of docs/candidates.md."""
    text = (DOCS / "candidates.md").read_text(encoding="utf-8").partition(FENCE)[2].partition("```")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ideas.toml"
        path.write_text(text, encoding="utf-8")
        return read_candidates(path)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, svg in pictures():
        (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
