"""The program that kills Dask's workers over an S3 server, with few traces: the dataset is that of calm days."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")
pytest.importorskip("moto.server")
pytest.importorskip("s3fs")
PROGRAM = Path(__file__).parents[2] / "benchmarks" / "dask_over_s3.py"


def test_a_batch_whose_workers_are_killed_gives_the_same_dataset() -> None:
    asked = ("--traces", "24", "--workers", "4", "--kill-every", "0.3", "--kills", "2", "--seed", "7")
    done = subprocess.run([sys.executable, str(PROGRAM), *asked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "datasets equal: True" in done.stdout
