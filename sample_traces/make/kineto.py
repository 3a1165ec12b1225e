"""Writes every Kineto sample and its truth: `python -m sample_traces.make.kineto [--out FOLDER]`, from the root."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from sample_traces.make.gdn_decode import gdn_decode
from sample_traces.make.kineto_text import Style, gzipped, kineto_text, three_decimals
from sample_traces.make.truth import as_text, truth


def sample_files() -> Iterator[tuple[str, bytes]]:
    """Path below sample_traces/ and content of every file this program owns."""
    t = gdn_decode()
    yield "kineto/gdn_decode_gfx936.json.gz", gzipped(kineto_text(t, Style(three_decimals)))
    yield "kineto/gdn_decode_gfx936.truth.json", as_text(truth(t, "gdn_decode_gfx936")).encode()


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
