"""A batch on Dask over an S3 server while workers are killed: `python benchmarks/dask_over_s3.py`; see docs/batch.md.

Traces and dataset lie in a bucket of moto's server on the loopback. The batch is run twice, undisturbed and with one
worker killed (SIGKILL) every so often; both datasets must hold the same files with the same bytes: the same rows.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from sample_traces.make.many_runs import Shape, decode_run, kineto

from trace_budget.batches.question import Question
from trace_budget.batches.run import ANALYSING, Workers, batch
from trace_budget.projection.candidates import Candidate
from trace_budget.schema.options import Change, Selection

QUESTION = Question((Candidate("paged_attention", Change(saving_us=2.0), Selection("paged_attention")),))
BUCKET = "s3://runs"


@contextmanager
def bucket() -> Iterator[str]:
    """An empty bucket of a server of its own, which every process started from here finds."""
    import fsspec

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        fsspec.filesystem("s3").mkdir(BUCKET)
        yield BUCKET
    finally:
        server.terminate()
        server.wait()


def upload(count: int, place: str, layers: int, steps: int) -> None:
    """`count` different traces of one size."""
    import fsspec

    system = fsspec.filesystem("s3")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            shape = Shape(number, layers, steps)
            text = kineto(decode_run(shape, 8), shape).encode()
            (Path(folder) / f"run{number:05}.trace.json.gz").write_bytes(gzip.compress(text, 1, mtime=0))
        system.put(f"{folder}/", f"{place}/", recursive=True)


def workers() -> list[int]:
    """The worker processes that this process has started, by their command lines."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
            parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        if parent == os.getpid() and b"spawn_main" in words:
            found.append(int(path.parent.name))
    return found


class Killer:
    """Kills one worker every `seconds` while traces are analysed, and at most `most` of them."""

    def __init__(self, seconds: float, most: int, seed: int) -> None:
        self.killed = 0
        self._most = most
        self._random = random.Random(seed)
        self._begun, self._ended = threading.Event(), threading.Event()
        self._seconds = seconds
        threading.Thread(target=self._work, daemon=True).start()

    def hear(self, stage: str, done: int, total: int) -> None:
        """The progress of the batch."""
        if stage == ANALYSING and done < total:
            self._begun.set()

    def stop(self) -> None:
        self._ended.set()

    def _work(self) -> None:
        self._begun.wait()
        while not self._ended.wait(self._seconds) and self.killed < self._most:
            alive = workers()
            if alive:
                os.kill(self._random.choice(alive), signal.SIGKILL)
                self.killed += 1


def files(place: str) -> dict[str, bytes]:
    """Every file of a dataset."""
    import fsspec

    system, root = fsspec.core.url_to_fs(place)
    system.invalidate_cache()
    found = system.cat(system.find(root)) if system.exists(root) else {}
    return {path.removeprefix(root): data for path, data in found.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=5_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kill-every", type=float, default=30.0, metavar="SECONDS")
    parser.add_argument("--kills", type=int, default=1_000, help="at most so many")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    with bucket() as place:
        upload(asked.traces, f"{place}/in", layers=4, steps=3)
        begin = time.monotonic()
        calm = batch(f"{place}/in", f"{place}/calm", QUESTION, Workers("dask", asked.workers))
        middle = time.monotonic()
        killer = Killer(asked.kill_every, asked.kills, asked.seed)
        shaken = batch(f"{place}/in", f"{place}/shaken", QUESTION, Workers("dask", asked.workers, progress=killer.hear))
        killer.stop()
        end = time.monotonic()
        rows = [each.table("runs").height for each in (calm, shaken)]
        equal = files(f"{place}/calm") == files(f"{place}/shaken")
    print(f"{asked.traces} traces, {asked.workers} workers: {middle - begin:.0f} s undisturbed, {rows[0]} runs")
    print(f"{killer.killed} workers killed: {end - middle:.0f} s, {rows[1]} runs; datasets equal: {equal}")
    return 0 if equal and rows == [asked.traces] * 2 and killer.killed else 1


if __name__ == "__main__":
    sys.exit(main())
