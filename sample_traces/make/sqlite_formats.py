"""Write the SQLite samples: `python -m sample_traces.make.sqlite_formats [--out FOLDER]` from the repository's root."""

from __future__ import annotations

import argparse
from pathlib import Path

from sample_traces.make import (
    hipprof_database,
    nsys_database,
    rocpd_database,
    rocprof_v1_database,
    rpd_database,
    two_processes,
)
from sample_traces.make import run_description as described
from sample_traces.make.database import Content, write

ROOT = Path(__file__).resolve().parents[1]
CUT_SHARE = 0.6


def _rocpd(schema: int = 3, views: bool = True) -> Content:
    content = rocpd_database.process_tables(rocpd_database.Process(schema=schema), described.described_run())
    return rocpd_database.with_views(content, [rocpd_database.GUID]) if views else content


OTHER_PID, OTHER_GPU, ROCPD_SHIFT_NS = 4343, 5, 777


def _rocpd_two_processes() -> Content:
    """Two processes merged into one file; their stack ids are equal."""
    run = described.described_run()
    other = rocpd_database.Process(rocpd_database.OTHER_GUID, OTHER_PID, 4344, OTHER_GPU, shift_ns=ROCPD_SHIFT_NS)
    contents = [rocpd_database.process_tables(process, run) for process in (rocpd_database.Process(), other)]
    guids = [rocpd_database.GUID, rocpd_database.OTHER_GUID]
    return rocpd_database.with_views(rocpd_database.merged(*contents), guids)


def _rocpd_no_dispatches() -> Content:
    content = _rocpd(views=False)
    for table in content.rows:
        if "kernel_dispatch" in table or "memory_copy" in table:
            content.rows[table] = []
    return content


def samples() -> dict[str, tuple[Content, dict[str, object]]]:
    """Path below sample_traces, content and truth of every sample."""
    same = described.truth()
    two = {
        "processes": {str(described.PID): rocpd_database.GPU, str(OTHER_PID): OTHER_GPU},
        "kernels_per_device": same["kernels"],
        "shift_ns": ROCPD_SHIFT_NS,
    }
    return {
        "rocpd/same_run.db": (_rocpd(), same),
        "rocpd/schema_4.db": (_rocpd(schema=4), same),
        "rocpd/no_views.db": (_rocpd(views=False), same),
        "rocpd/two_processes.db": (_rocpd_two_processes(), two),
        "rpd/same_run.rpd": (rpd_database.same_run(), same),
        "rpd/schema_3.rpd": (rpd_database.same_run(schema=3), same),
        "rpd/of_sdk.rpd": (rpd_database.same_run(3, rpd_database.SDK), same),
        "rpd/of_clr.rpd": (rpd_database.of_clr(), {"kernels": same["kernels"], "nameless": same["kernels"]}),
        "rpd/two_processes.rpd": (two_processes.rpd(), dict(two_processes.TRUTH)),
        "rpd/odd_rows.rpd": (rpd_database.odd_rows(), dict(rpd_database.ODD_ROWS_TRUTH)),
        "nsys_sqlite/same_run.sqlite": (nsys_database.same_run(), same),
        "nsys_sqlite/two_processes.sqlite": (nsys_database.two_processes(), dict(nsys_database.TWO_PROCESSES_TRUTH)),
        "nsys_sqlite/visible_devices.sqlite": (
            nsys_database.visible_devices(),
            dict(nsys_database.VISIBLE_DEVICES_TRUTH),
        ),
        "hipprof_db/same_run.db": (hipprof_database.same_run(), same),
        "hipprof_db/two_workers.db": (hipprof_database.two_workers(), dict(hipprof_database.TWO_WORKERS_TRUTH)),
        "rocprof_v1_db/same_run.db": (rocprof_v1_database.same_run(), same),
        "rocprof_v1_db/two_processes.db": (two_processes.rocprof_v1_db(), dict(two_processes.TRUTH)),
        "broken/rocpd_no_dispatches.db": (_rocpd_no_dispatches(), {"kernels": 0, "refused": True}),
        "broken/nsys_graph_level_only.sqlite": (
            nsys_database.graph_level_only(),
            {"graph_launches": described.STEPS, "kernels": 1, "refused": True},
        ),
        "broken/nsys_no_kernels.sqlite": (nsys_database.no_kernels(), {"kernels": 0, "refused": True}),
        "broken/rocprof_v1_counters.db": (rocprof_v1_database.with_counters(), {"refused": True}),
    }


def write_all(out: Path) -> None:
    """Write every sample with its truth, and the one that is cut short."""
    for name, (content, truth) in samples().items():
        path = out / name
        write(path, content)
        described.write_truth(path.with_suffix(".truth.json"), truth)
    whole = (out / "rocpd/same_run.db").read_bytes()
    cut = out / "broken/rocpd_truncated.db"
    cut.write_bytes(whole[: int(len(whole) * CUT_SHARE)])
    described.write_truth(cut.with_suffix(".truth.json"), {"whole_bytes": len(whole), "refused": True})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT)
    write_all(parser.parse_args().out)
