"""The broken Kineto samples are broken in the way their row in the README says, and in no other."""

from __future__ import annotations

import gzip
import json
import zlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

BROKEN = Path(__file__).resolve().parents[2] / "sample_traces" / "broken"


def truth_of(case: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((BROKEN / f"{case}.truth.json").read_text())
    return document


def test_the_truncated_stream_ends_inside_an_event_of_the_last_step() -> None:
    data, truth = (BROKEN / "kineto_truncated.json.gz").read_bytes(), truth_of("kineto_truncated")
    with pytest.raises(EOFError):
        gzip.decompress(data)
    text = zlib.decompressobj(31).decompress(data).decode()
    assert len(text) == truth["json_bytes"]
    whole, _, rest = text.rpartition("\n  },\n")
    events = json.loads(whole[whole.index("[\n  {") :] + "\n  }]", parse_float=Decimal)
    ops = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy")]
    assert len(ops) == truth["gpu_ops_before_the_cut"]
    assert "ts" in rest
    per_step = [row["gpu_ops"] for row in truth["steps"]]
    assert sum(per_step[:-1]) < len(ops) < sum(per_step)
    assert truth["complete_steps"] == len(per_step) - 1


def test_one_replay_lost_kernels() -> None:
    truth = truth_of("kineto_lost_kernels")
    events = json.loads(gzip.decompress((BROKEN / "kineto_lost_kernels.json.gz").read_bytes()))["traceEvents"]
    launches = [e["args"]["correlation"] for e in events if e.get("name") == "hipGraphLaunch"]
    counts = [sum(e.get("cat") == "kernel" and e["args"]["correlation"] == c for e in events) for c in launches]
    whole = truth["kernels_per_replay"]
    expected = [whole] * 5
    expected[truth["lost_in_step"]] -= truth["lost"]
    assert counts == expected
    assert truth["lost"] > 0


def test_two_events_are_not_json() -> None:
    truth = truth_of("kineto_unescaped_quote")
    text = gzip.decompress((BROKEN / "kineto_unescaped_quote.json.gz").read_bytes()).decode()
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
    good, bad = 0, 0
    body = text[text.index("[\n  {") + 2 : text.rindex("\n  ]")]
    for event in body.split(",\n  {\n"):
        try:
            good += json.loads("{" + event.removeprefix("  {")).get("cat") == "kernel"
        except json.JSONDecodeError:
            bad += 1
    assert bad == truth["damaged_events"] == 2
    assert good + bad == truth["kernels_recorded"]


def test_all_calls_of_one_kernel_have_no_time() -> None:
    truth = truth_of("kineto_zero_timestamps")
    events = json.loads((BROKEN / "kineto_zero_timestamps.json").read_text())["traceEvents"]
    zeros = [e["name"] for e in events if e.get("cat") == "kernel" and e["ts"] == 0 and e["dur"] == 0]
    assert zeros == [truth["kernel_without_times"]] * truth["ops_without_times"]
    assert sum(e.get("cat") == "kernel" for e in events) == truth["kernels_recorded"]


def test_files_without_any_kernel() -> None:
    events = json.loads((BROKEN / "kineto_no_kernels.json").read_text())["traceEvents"]
    assert {e.get("cat") for e in events} >= {"user_annotation"}
    assert not [e for e in events if e.get("cat") in ("kernel", "cuda_runtime")]
    assert (BROKEN / "empty.json").read_bytes() == b""
    assert (BROKEN / "lfs_pointer.json").read_text().startswith("version https://git-lfs")
