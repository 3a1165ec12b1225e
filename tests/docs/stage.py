"""The folder in which the blocks of a page run: the samples, and stand-ins for the files that the pages speak of.

`PYTHONPATH=tests python -m docs.stage FOLDER` makes it for someone who follows the pages by hand.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

from captures import capture_file
from docs.blocks import ROOT
from formats.folders import rank_text, written

DECODE = ROOT / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"
NEW_KERNEL_US = 17.044
CANDIDATES = """schema = "trace-budget/candidates/1"

[[candidate]]
id = "gdn"
match = { kernel = "gdn_fused" }
saving_us = 3.228

[[candidate]]
id = "gdr"
match = { kernel = "gdr_split" }
saving_us = 3.1084
"""


def decode(path: Path) -> None:
    shutil.copyfile(DECODE, path)


def after(path: Path, new_name: str = "gdn_hip") -> None:
    """The decode sample with `gdn_fused` replaced by a shorter kernel; what follows moves up in its step."""
    document = json.loads(gzip.decompress(DECODE.read_bytes()))
    saved = 0.0
    for event in sorted(document["traceEvents"], key=lambda event: float(event.get("ts", 0))):
        if event.get("cat") in {"kernel", "gpu_memcpy"}:
            event["ts"] = round(float(event["ts"]) - saved, 3)
        if event.get("cat") == "kernel" and event["name"] == "gdn_fused":
            saved += float(event["dur"]) - NEW_KERNEL_US
            event |= {"name": new_name, "dur": NEW_KERNEL_US}
    path.write_bytes(gzip.compress(json.dumps(document).encode(), mtime=0))


def ranks(path: Path) -> None:
    """A profile folder of vLLM with two ranks."""
    written(path, {f"rank{rank}.177370974{rank}.pt.trace.json": rank_text(rank) for rank in (0, 1)})


def week(path: Path) -> None:
    """Two traces, in folders that name model, batch size and ranks."""
    for model in ("Qwen3-Next-80B", "Qwen3.5-27B"):
        (path / model / "bs1" / "tp1").mkdir(parents=True)
    decode(path / "Qwen3-Next-80B/bs1/tp1/decode.json.gz")
    after(path / "Qwen3.5-27B/bs1/tp1/decode.json.gz", "gdn_fused")


def nightly(path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        archive.add(ROOT / "sample_traces" / "kineto" / "same_run.json", "same_run.json")


def capture(path: Path) -> None:
    plain = capture_file(path.with_suffix(""), 64)
    path.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    plain.unlink()


STAND_INS: dict[str, Callable[[Path], None]] = {
    "decode.json.gz": decode,
    "before.json.gz": decode,
    "after.json.gz": after,
    "capture.json.gz": capture,
    "profile": ranks,
    "week": week,
    "nightly.tar.gz": nightly,
    "candidates.toml": lambda path: path.write_text(CANDIDATES, encoding="utf-8") and None,
}


def set_up(folder: Path, commands: str) -> None:
    """The samples, and each stand-in that the commands name, in a folder that has none of them yet."""
    shutil.copytree(ROOT / "sample_traces", folder / "sample_traces", ignore=shutil.ignore_patterns("make", "*.py"))
    for name, make in STAND_INS.items():
        if name in commands:
            make(folder / name)


if __name__ == "__main__":
    if Path(sys.argv[1]).exists():
        sys.exit(f"{sys.argv[1]} is there already: give another name, or remove it")
    set_up(Path(sys.argv[1]), " ".join(STAND_INS))
