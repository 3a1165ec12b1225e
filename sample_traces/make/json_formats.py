"""Write the JSON samples: `python -m sample_traces.make.json_formats [--out FOLDER]` from the repository's root."""

from __future__ import annotations

import argparse
from pathlib import Path

from sample_traces.make import (
    ascend_text,
    hipprof_text,
    kineto_same_run,
    rocprof_text,
    rocprofv3_text,
    rpd_text,
    two_processes,
    xla_text,
)
from sample_traces.make import run_description as described

ROOT = Path(__file__).resolve().parents[1]
OTHER_PID = 4343
CUT_SHARE = 0.7


def samples() -> dict[str, str]:
    """Path below sample_traces and text of every sample."""
    run = described.described_run()
    rocprofv3, killed = rocprofv3_text.results_json(run), rocprof_text.results_json(run)
    return {
        "kineto/same_run.json": kineto_same_run.trace_json(run),
        "rocprofv3_json/same_run.json": rocprofv3,
        "rocprofv3_json/two_processes.json": rocprofv3_text.results_json(run, (described.PID, OTHER_PID)),
        "rocprof_v1_json/same_run.json": rocprof_text.results_json(run),
        "hipprof_json/same_run.json": hipprof_text.timeline_json(run),
        "hipprof_json/same_run.html": hipprof_text.timeline_html(run),
        "hipprof_json/two_processes.json": two_processes.hipprof_json(),
        "rpd_json/same_run.json": rpd_text.timeline_json(run),
        "ascend_json/same_run.json": ascend_text.trace_view_json(run),
        "xla_json/same_run.trace.json": xla_text.trace_json(run),
        # the cut falls among the dispatches, which stand after names and agents
        "broken/rocprofv3_truncated.json": rocprofv3[: int(len(rocprofv3) * CUT_SHARE)],
        # a killed run writes neither flows nor the end of its list
        "broken/rocprof_v1_killed.json": killed[: killed.index(',{"ts":')],
    }


def write_all(out: Path) -> None:
    """Write every sample; one truth for all of a folder, since all tell of the same run."""
    for name, text in samples().items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    for folder in dict.fromkeys(Path(name).parts[0] for name in samples()):
        if folder != "broken":
            described.write_truth(out / folder / "same_run.truth.json", described.truth())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT)
    write_all(parser.parse_args().out)
