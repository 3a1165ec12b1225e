"""Writes every Kineto sample and its truth: `python -m sample_traces.make.kineto [--out FOLDER]`, from the root."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from sample_traces.make.broken_kineto import broken_files
from sample_traces.make.gdn_decode import gdn_decode
from sample_traces.make.kineto_text import Style, gzipped, kineto_text, shortest, three_decimals, whole_us
from sample_traces.make.once_per_step import once_per_step
from sample_traces.make.small import small
from sample_traces.make.timeline import Timeline
from sample_traces.make.truth import as_text, truth
from sample_traces.make.two_streams import two_streams

RELATIVE_NS = 7_000_000_000_000_321
EPOCH_NS = 1_713_000_000_000_000_000


def sample_files() -> Iterator[tuple[str, bytes]]:
    """Path below sample_traces/ and content of every file this program owns."""
    yield from _case("gdn_decode_gfx936", gdn_decode(), Style(three_decimals))
    streams, facts = two_streams()
    yield from _case("cuda_two_streams_pdl", streams, Style(shortest, native=False), **facts)
    yield from _case("hybrid_once_per_step", once_per_step(), Style(three_decimals), dense_layers=3, moe_layers=21)
    yield from _eras()
    yield from broken_files()


def _eras() -> Iterator[tuple[str, bytes]]:
    """The same small program as the profiler printed it before 2024, in spring 2024, and as a bare list."""
    whole, decimals = Style(whole_us, head_first=False), Style(three_decimals, head_first=False)
    listed = Style(shortest, native=False, bare_list=True)
    yield from _case("integer_us_epoch", small(EPOCH_NS, grid_ns=1_000), whole, resolution_ns=1_000)
    yield from _case("decimal_us_epoch", small(EPOCH_NS + 277), decimals, resolution_ns=1)
    yield from _case("list_root", small(RELATIVE_NS), listed, device=None)


def _case(name: str, timeline: Timeline, style: Style, **facts: object) -> Iterator[tuple[str, bytes]]:
    yield f"kineto/{name}.json.gz", gzipped(kineto_text(timeline, style))
    yield f"kineto/{name}.truth.json", as_text(truth(timeline, name, **facts)).encode()


def main() -> None:
    """Write the files below the folder given, by default the one this program lies in."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent)
    out: Path = parser.parse_args().out
    for name, content in sample_files():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(f"{len(content):>9,} {path}")


if __name__ == "__main__":
    main()
