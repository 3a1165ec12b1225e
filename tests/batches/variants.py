"""One small trace in as many versions as a test wants: the durations of its attention kernels times a factor."""

import gzip
import json
from pathlib import Path

from trace_budget.batches.run import Batch


def longer(few: Path, factor: float, **more: object) -> bytes:
    """A Kineto trace of the few whose attention kernels take `factor` times as long, with further top-level values."""
    first = min(path for path in few.glob("*_bs*/*/*.json.gz") if path.stat().st_size < 100_000)
    document = json.loads(gzip.decompress(first.read_bytes()))
    document.update(more)
    for event in document["traceEvents"]:
        if event.get("cat") == "kernel" and "attention" in event["name"]:
            event["dur"] *= factor
    return gzip.compress(json.dumps(document).encode(), mtime=0)


def attention_us(answer: Batch) -> dict[str, float]:
    """The median time of an attention kernel in each trace of a batch, by path."""
    runs = answer.table("runs").select("trace_id", "path")
    rows = answer.table("projections").join(runs, on="trace_id").select("path", "median_us").rows()
    return dict(rows)
