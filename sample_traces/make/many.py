"""Writes a folder of many small traces: `python -m sample_traces.make.many FOLDER [--traces N]`; none is kept here.

Ranks of jobs, models, batch sizes, formats and archives differ; some files are broken, some are records of graph
capture, some are no traces at all. `FOLDER.manifest.json` says what is known of each file.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sample_traces.make import many_broken, nsys_text, rocpd_database, rocprofv3_text, rpd_text
from sample_traces.make import run_description as described
from sample_traces.make.database import write
from sample_traces.make.many_runs import Shape, decode_run, kineto

ARCHIVED = 6
MODELS = ("Llama-3-8B", "Qwen3-8B", "gpt-oss-20b")
OTHERS = {"README.md": "# Runs of the week\n", "notes/config.json": '{"batch": 4}', "notes/server.log": "started\n"}
Content = bytes | str


@dataclass(frozen=True)
class Facts:
    """What is true of one file: its path as a batch names it, and the run it was written from."""

    path: str
    kind: str
    format: str | None = None
    job: str | None = None
    rank: int | None = None
    model: str | None = None
    batch_size: int | None = None
    layers: int | None = None
    steps: int | None = None
    attention_ns: float | None = None


def _csv_set(run: described.Run, stem: str) -> dict[str, Content]:
    parts = {
        "kernel_trace": rocprofv3_text.kernel_trace(run),
        "hip_api_trace": rocprofv3_text.hip_api_trace(run),
        "marker_api_trace": rocprofv3_text.marker_api_trace(run),
        "memory_copy_trace": rocprofv3_text.memory_copy_trace(run),
        "agent_info": rocprofv3_text.agent_info(),
    }
    return {f"{stem}_{part}.csv": text for part, text in parts.items()}


FORMATS: dict[str, Callable[[described.Run, str], dict[str, Content]]] = {
    "rocprofv3_json": lambda run, stem: {f"{stem}.json": rocprofv3_text.results_json(run)},
    "rpd_json": lambda run, stem: {f"{stem}.json": rpd_text.timeline_json(run)},
    "nsys_csv": lambda run, stem: {f"{stem}.csv": nsys_text.one_output(run)},
    "rocprofv3_csv": _csv_set,
}


def write_many(folder: Path, traces: int = 185, seed: int = 7) -> list[Facts]:
    """Write the folder; `traces` good ones, 10 broken, 5 of graph capture. The same seed writes the same bytes."""
    rng = random.Random(seed)
    known: list[Facts] = []
    count = 0
    while count < traces:
        world = min(rng.choice((1, 1, 2, 4)), traces - count)
        name = rng.choice(("kineto", "kineto", "kineto", "rocpd", *FORMATS)) if world == 1 else "kineto"
        for rank in range(world):
            large = count % 40 == 39
            layers, steps = (32, 12) if large else (4 + count % 4, 3 + count % 3)
            shape = Shape(count, layers, steps, rank, world)
            known.append(_write_trace(folder, name, shape, rng if world == 1 else random.Random(count - rank)))
            count += 1
    known += [Facts(f"{folder.name}/{path}", "broken") for path in _write(folder, many_broken.broken())]
    known += [Facts(f"{folder.name}/{path}", "sidecar") for path in _write(folder, many_broken.sidecars())]
    _write(folder, OTHERS)
    _pack(folder, known)
    return known


def _write_trace(folder: Path, name: str, shape: Shape, rng: random.Random) -> Facts:
    model, batch = rng.choice(MODELS), 2 ** rng.randint(0, 5)
    run = decode_run(shape, batch)
    place = f"{model}_bs{batch}/night{(shape.number - shape.rank) % 5}"
    if name == "kineto":
        stem = f"run{shape.number - shape.rank}" + (f"-rank-{shape.rank}" if shape.world > 1 else "")
        files: dict[str, Content] = {f"{stem}.trace.json.gz": gzip.compress(kineto(run, shape).encode(), 3, mtime=0)}
    elif name == "rocpd":
        files = {f"run{shape.number}.db": b""}
    else:
        files = FORMATS[name](run, f"run{shape.number}")
    written = _write(folder / place, files)
    if name == "rocpd":
        write(folder / place / written[0], rocpd_database.process_tables(rocpd_database.Process(), run))
    path = f"{folder.name}/{place}/{written[0]}"
    job = path.replace(f"-rank-{shape.rank}", "-rank#") if shape.world > 1 else path
    rank = shape.rank if name == "kineto" else None
    attention = [op.end_ns - op.start_ns for op in run.ops if op.name == "paged_attention_kernel"]
    mean = sum(attention) / len(attention)
    return Facts(path, "trace", name, job, rank, model, batch, shape.layers, shape.steps, mean)


def _write(folder: Path, files: dict[str, Content]) -> list[str]:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(files)


def _pack(folder: Path, known: list[Facts]) -> None:
    """Move the first single-file traces into a zip and a tar.gz; the facts follow them."""
    single = [
        facts for facts in known if facts.kind == "trace" and facts.job == facts.path and "csv" not in str(facts.format)
    ]
    for archive, members in (("week.zip", single[:ARCHIVED]), ("older/week.tar.gz", single[ARCHIVED : 2 * ARCHIVED])):
        target = folder / archive
        target.parent.mkdir(parents=True, exist_ok=True)
        inside = dict(_taken(folder, members))
        target.write_bytes(_zipped(inside) if archive.endswith(".zip") else _tarred(inside))
        for facts, name in zip(members, inside, strict=True):
            path = f"{folder.name}/{archive}!/{name}"
            known[known.index(facts)] = Facts(**{**asdict(facts), "path": path, "job": path})


def _taken(folder: Path, members: list[Facts]) -> Iterator[tuple[str, bytes]]:
    for facts in members:
        name = facts.path.partition("/")[2]
        yield name, (folder / name).read_bytes()
        (folder / name).unlink()


def _zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def _tarred(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--traces", type=int, default=185)
    asked = parser.parse_args()
    known = write_many(asked.folder, asked.traces)
    manifest = asked.folder.with_name(f"{asked.folder.name}.manifest.json")
    manifest.write_text(json.dumps([asdict(facts) for facts in known], indent=1), encoding="utf-8")
    print(f"{len(known)} files in {asked.folder}, described in {manifest}")


if __name__ == "__main__":
    main()
