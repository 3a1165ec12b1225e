"""One mutated input from a seed and a number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from . import bytes_level, csv_level, json_level, packing, parquet_level, protobuf_level, sqlite_level
from .samples import CSV, JSON, PARQUET, PROTOBUF, SQLITE, Sample, drawn, files_of

_PACKED = 0.12
_BY_BYTES = 0.4
_BESIDE = 0.3


@dataclass(frozen=True)
class Input:
    """Files to read, the one to name first; `steps` says how they were made from the sample."""

    sample: Sample
    files: dict[str, bytes]
    steps: tuple[str, ...]
    mutated: str

    @property
    def main(self) -> str:
        """What a user would name: the sample's own file or folder."""
        return Path(self.sample.name).name

    def write(self, folder: Path) -> Path:
        """Write the files; returns what to read."""
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return folder / self.main


def numbered(seed: int, index: int, only: str = "") -> Input:
    """The input of this number, of one format if that is named; the same three give the same bytes."""
    rng = Random(f"{seed}:{index}")
    return of_sample(rng, drawn(rng, only))


def of_sample(rng: Random, sample: Sample) -> Input:
    """A mutated copy of a sample."""
    files = dict(files_of(sample))
    own = [name for name in files if name == Path(sample.name).name or sample.family == PARQUET]
    beside = [name for name in files if name not in own]
    name = rng.choice(beside if beside and rng.random() < _BESIDE else own)
    data, steps = changed(rng, packing.plain(files[name]), sample.family)
    if rng.random() < _PACKED:
        pack = rng.choice(packing.PACKINGS)
        data, steps = pack(rng, data), [*steps, pack.__name__]
    return Input(sample, {**files, name: data}, tuple(steps), name)


def changed(rng: Random, data: bytes, family: str) -> tuple[bytes, list[str]]:
    """The bytes after one or more mutations of the family or of plain bytes, and what these are called."""
    if rng.random() < _BY_BYTES:
        steps = [rng.choice(bytes_level.MUTATIONS) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        for step in steps:
            data = step(rng, data)
        return data, [step.__name__ for step in steps]
    return _BY_FAMILY[family](rng, data)


def _by_text(level: tuple[object, ...], rng: Random, data: bytes) -> tuple[bytes, list[str]]:
    steps = [rng.choice(level) for _ in range(rng.choice((1, 1, 2, 4)))]
    for step in steps:
        data = step(rng, data)  # type: ignore[operator]
    return data, [step.__name__ for step in steps]  # type: ignore[attr-defined]


def _by_database(rng: Random, data: bytes) -> tuple[bytes, list[str]]:
    if rng.random() < 0.2:
        return sqlite_level.page(rng, data), ["page"]
    return sqlite_level.mutated(rng, data)


_BY_FAMILY = {
    JSON: partial(_by_text, json_level.MUTATIONS),
    CSV: partial(_by_text, csv_level.MUTATIONS),
    SQLITE: _by_database,
    PROTOBUF: protobuf_level.mutated,
    PARQUET: parquet_level.mutated,
}
