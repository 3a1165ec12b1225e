"""How long commands take, by hyperfine: `python benchmarks/commands.py [TRACE --kernel NAME] [--runs 15]`.

Whole processes on one small trace (default: the sample), beside a bare interpreter and `import polars`.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLE = Path(__file__).parents[1] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"


def commands(trace: Path, kernel: str, out: Path) -> dict[str, list[str]]:
    """What is measured: name and command."""
    python = [sys.executable]
    ours = [*python, "-m", "trace_budget"]
    asked = [str(trace), "--kernel", kernel]
    return {
        "python -c pass": [*python, "-c", "pass"],
        "import polars": [*python, "-c", "import polars"],
        "--help": [*ours, "--help"],
        **{name: [*ours, name, str(trace)] for name in ("kernels", "steps", "layers", "overlap", "check")},
        "project": [*ours, "project", *asked, "--saving-us", "3"],
        "report": [*ours, "report", *asked, "--saving-us", "3", "-o", str(out / "report.html"), "--force"],
        "timeline": [*ours, "timeline", *asked, "--saving-us", "3", "-o", str(out / "timeline.json"), "--force"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path, nargs="?", default=SAMPLE)
    parser.add_argument("--kernel", default="gdn_fused")
    parser.add_argument("--runs", type=int, default=15)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wanted, results = commands(asked.trace, asked.kernel, Path(folder)), Path(folder) / "results.json"
        subprocess.run(
            ["hyperfine", "-N", "--warmup", "2", "--runs", str(asked.runs), "--style", "none",
             "--export-json", str(results), *map(shlex.join, wanted.values())],
            check=True, env=os.environ | {"TRACE_BUDGET_CACHE": "off"},
        )  # fmt: skip
        found = json.loads(results.read_text())["results"]
    polars = found[1]["median"]
    print("| command | ms | least | x `import polars` |\n| :--- | ---: | ---: | ---: |")
    for name, one in zip(wanted, found, strict=True):
        print(f"| {name} | {1e3 * one['median']:.0f} | {1e3 * one['min']:.0f} | {one['median'] / polars:.2f} |")


if __name__ == "__main__":
    main()
