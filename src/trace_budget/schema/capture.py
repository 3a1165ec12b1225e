"""What a graph-capture trace says: the launches recorded into each graph, and the ranges they were made in."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class CaptureFile:
    """The captures of one file.

    `launches`: capture (number), label (annotation around it, such as capture_32_FULL), kernel (name where the profiler
    wrote it into the launch, else null), start_ns, tid; in the order in which they were captured.
    `ranges`: kind (module or operator), name, shapes (input dimensions as text, null when not recorded), start_ns,
    end_ns, tid; host ranges around the launches.
    """

    path: str
    launches: pl.DataFrame
    ranges: pl.DataFrame


@dataclass(frozen=True, slots=True)
class CapturedNames:
    """Names of replayed ops from a capture.

    `names`: op_id, module, operator, shapes (null: none recorded), one row per named op; empty when nothing fits.
    `label`: the capture that fits best; `named` of `replayed` ops of the counted steps' replays; `method`: names
    (kernel names agree) or count (the capture holds no kernel names); `layers_by`: what is called once a layer in the
    capture, with its calls that lie in the layer of their number, of all; `modules_tell`: module calls number the
    layers; `why_not` says why nothing was named, empty when something was.
    """

    names: pl.DataFrame
    label: str
    named: int
    replayed: int
    method: str
    layers_by: tuple[tuple[str, int, int], ...] = ()
    modules_tell: bool = False
    why_not: str = ""
