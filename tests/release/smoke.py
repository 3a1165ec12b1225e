"""What must work wherever the wheel is installed, with nothing but its own dependencies: `smoke.py SAMPLES [EXTRA]`.

Run by `.ci/release` in a fresh environment, from an empty folder, with every warning an error.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

SEED = "kineto/gdn_decode_gfx936.json.gz"
REPLACEMENT = ("--kernel", "gdn_fused", "--saving-us", "3.228")


def run(*arguments: str, code: int = 0, **environment: str) -> str:
    """Output of `python -W error -m trace_budget …`, which must end with `code`, without a traceback."""
    command = [sys.executable, "-W", "error", "-m", "trace_budget", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def base(samples: Path) -> None:
    """The answer for the seed sample, the same through every output, and the commands without a trace."""
    seed = str(samples / SEED)
    found = json.loads(run("project", seed, *REPLACEMENT, "--format", "json"))
    assert found["verdict"] == "NO-GO", found["verdict"]
    assert "0.352 %" in run("project", seed, *REPLACEMENT)
    run("project", seed, *REPLACEMENT, "--fail-unless", "GO", code=10)
    for suffix in ("json", "csv", "md", "parquet"):
        run("kernels", seed, "-o", f"kernels.{suffix}")
    for trace in sorted(samples.glob("kineto/*.json*")):
        if not trace.name.endswith(".truth.json"):
            run("layers", str(trace))
            run("project", str(trace), "--kernel", "e", "--all-matches", "--free")
    for name in ("rocprofv3_csv/same_run_kernel_trace.csv", "rocpd/same_run.db", "hipprof_json/same_run.json"):
        assert "gemm" in run("kernels", str(samples / name))
    run("threshold", seed)
    run("check", seed)
    run("ingest", seed, "-o", "tables")
    run("batch", str(samples / "kineto"), "-o", "dataset", "-j", "2", *REPLACEMENT, code=0)
    report(samples)
    plot(samples)
    run("formats")
    run("schema")
    script = Path(sysconfig.get_path("scripts")) / "trace-budget"
    version = subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout
    assert version.split()[1] == json.loads(run("doctor", "--format", "json"))["version"], version
    assert "complete" in run(_TRACE_BUDGET_COMPLETE="source_bash")


def fast(samples: Path) -> None:
    assert found("isal")
    run("kernels", str(samples / SEED))


def zstd(samples: Path) -> None:
    import zstandard

    Path("seed.json.zst").write_bytes(zstandard.compress(gzip.decompress((samples / SEED).read_bytes())))
    assert "gdn_fused" in run("kernels", "seed.json.zst", "--format", "csv")


def dask(samples: Path) -> None:
    run("batch", str(samples / "kineto"), "-o", "dataset", "--engine", "dask", "-j", "1", *REPLACEMENT)


def remote(samples: Path) -> None:
    shutil.copy(samples / SEED, "seed.json.gz")
    run("batch", Path.cwd().as_uri(), "-o", (Path.cwd() / "dataset").as_uri(), "-j", "1", *REPLACEMENT)


def report(samples: Path) -> None:
    run("report", str(samples / SEED), *REPLACEMENT, "-o", "page.html")
    assert Path("page.html").stat().st_size > 1_000_000


def plot(samples: Path) -> None:
    run("project", str(samples / SEED), *REPLACEMENT, "--plot", "plot.png", "-q")
    assert Path("plot.png").read_bytes().startswith(b"\x89PNG")


def perfetto_offline(samples: Path) -> None:
    assert "gemm" in run("kernels", str(samples / "perfetto" / "same_run.pftrace"))


def found(item: str) -> str | None:
    """What doctor says of one item."""
    rows = json.loads(run("doctor", "--format", "json"))["rows"]
    (row,) = [row for row in rows if row["item"] == item]
    told: str | None = row["found"]
    return told


CHECKS: dict[str, Callable[[Path], None]] = {
    "": base,
    "fast": fast,
    "zstd": zstd,
    "dask": dask,
    "remote": remote,
    "perfetto-offline": perfetto_offline,
}

if __name__ == "__main__":
    CHECKS[sys.argv[2] if len(sys.argv) > 2 else ""](Path(sys.argv[1]).resolve())
