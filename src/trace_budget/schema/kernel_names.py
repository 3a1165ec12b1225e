"""Names that name no kernel: none at all, the operation type all kernels share, or the text of the range around them.

Kernels under such a name may be of many kinds, so that none of them can be projected on. They are called `<unnamed>`,
or `<in TEXT>` where `--kernel-rename` gave them the text of a range.
"""

from __future__ import annotations

import polars as pl

UNNAMED = "<unnamed>"
_IN_RANGE = "<in "
_DISPATCH = (
    r"^(?i:KernelExecution|(?:Native|Concurrent)?_?Kernel|Task(?:Kernel)?|NDRangeKernel|KERNEL_DISPATCH(?:_[A-Z]+)?"
    r"|HIP_OP_DISPATCH|Dispatch|KERNEL_(?:AICORE|AIVEC|AICPU|MIX_AI[CV]|SIMT)|AI_(?:VECTOR_)?CORE|AI_?CPU|FFTS_PLUS)$"
)
_STEP = (
    r"^(?:execute_(?:\d+_)?(?:context|new)_\d|step\[\w+ bs=|ProfilerStep#\d|gpu_model_runner: |## Call CompiledFxGraph)"
)


def is_dispatch_type(text: pl.Expr) -> pl.Expr:
    """Whether a text is the operation type of every kernel, and so names none."""
    return text.str.contains(_DISPATCH)


def is_step_text(text: pl.Expr) -> pl.Expr:
    """Whether a text is what engines and profilers write around a step."""
    return text.str.contains(_STEP)


def in_range(text: pl.Expr) -> pl.Expr:
    """The name of kernels that carry the text of the range around them."""
    return pl.concat_str(pl.lit(_IN_RANGE), text, pl.lit(">"))


def is_nameless(name: str) -> bool:
    """Whether kernels of this name may be of many kinds."""
    return name == UNNAMED or (name.startswith(_IN_RANGE) and name.endswith(">"))


def with_nameless(names: pl.Series) -> pl.Series:
    """Texts with UNNAMED for what is empty or an operation type."""
    text = pl.col("name")
    empty = (text.str.strip_chars() == "") | is_dispatch_type(text)
    kept = pl.when(~empty.fill_null(value=True)).then(text).otherwise(pl.lit(UNNAMED))
    return names.cast(pl.String).to_frame("name").select(kept.alias(names.name)).to_series()
