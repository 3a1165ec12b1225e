"""What kernel names say of layers: norms, what mixes tokens, ends of a pass, and which names are alike."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from trace_budget.schema.findings import Int64Array

Flags = npt.NDArray[np.bool_]
NORM = r"norm|rsqrt|(^|[^a-z])rms"  # rsqrt: names of generated kernels list the operations they fuse
MIXER = (
    r"attn|attention|flash|fmha|sdpa|mla_|_mla|mha|mqa|gqa|ssm|ssd|selective_(scan|state)|mamba|gdn|delta|kda|wkv|rwkv"
    r"|retention|lightning|linear_att|conv1d"
)
END = r"(?:^|[^y])_?embed|lm_?head|logits|argmax|sampl|vocab|get_rows|top_?p"
HEAD = r"lm_?head|logits|argmax|sampl|vocab|top_?p_"  # what only the end of a pass runs
ACTIVATION = r"silu|swiglu|gelu|geglu|relu|act_|_act|mlp|moe|expert|ffn"
GEMM = r"gemm|gemv|cijk_|nvjet|mul_mat|matmul|xmma|dot_kernel"
GENERIC = r"quant|copy|cpy|add|axpy|elementwise|reduce|fill|scale|split"  # beside matrix products: as many as it takes
# Number formats and tile sizes: `q4_k`, `iq4_xs`, `bf16`, `fp8`, `e4m3`, `w8a8`, `int4`, `mxfp4`, `64x128x32`.
FORMATS = re.compile(
    r"(?<![a-z0-9])(?:i?q\d+(?:_?[0-9k])?(?:_?x?[smlk])?|[a-z]{0,2}fp?\d+|e\dm\d(?:fn(?:uz)?)?|w\d+a\d+|u?int\d+|[su]\d+"
    r"|half|float|double|bhalf|mt\d+x\d+(?:x\d+)?|\d+x\d+(?:x\d+)*)(?![a-z0-9])"
)
_SUFFIX = re.compile(r"( \[clone .*\]|\.kd)$")
_MANGLED = re.compile(r"_ZN?K?")


@dataclass(frozen=True, slots=True)
class Names:
    """Roles of kernels by the code of their name, and for each code the least code of a name that is alike."""

    norms: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    mixers: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    ends: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    activations: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    heads: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    generic: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    like: Int64Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def are(self, role: str, codes: Int64Array) -> Flags:
        """Which of the codes have a role (the name of a field); names that nothing is known of have none."""
        flags: Flags = getattr(self, role)
        inside = codes < flags.size
        found: Flags = inside & flags[np.where(inside, codes, 0)] if flags.size else np.zeros(codes.shape, np.bool_)
        return found

    def alike(self, codes: Int64Array) -> Int64Array:
        """The codes with one code for all names that are alike."""
        return self.like[codes] if self.like.size else codes


OPAQUE = Names()


def names_of(column: pl.Series) -> Names:
    """What the names of a column (an Enum) say."""
    if not isinstance(column.dtype, pl.Enum):
        return OPAQUE
    texts = column.dtype.categories.str.to_lowercase()
    flags = [
        texts.str.contains(pattern).to_numpy() for pattern in (NORM, MIXER, END, ACTIVATION, HEAD, f"{GEMM}|{GENERIC}")
    ]
    coarse = [coarse_name(text) for text in column.dtype.categories.to_list()]
    first: dict[str, int] = {}
    like = np.array([first.setdefault(text, code) for code, text in enumerate(coarse)], dtype=np.int64)
    norms, mixers, ends, activations, heads, generic = flags
    mixers, generic = mixers & ~norms, generic & ~norms & ~mixers
    return Names(norms, mixers, ends, activations, heads, generic, like)


def coarse_name(name: str) -> str:
    """A name without template arguments, parameters, number formats and tile sizes; all matrix products are alike."""
    base = _SUFFIX.sub("", name)
    base = (_identifiers(base) if base.startswith("_Z") else _without_brackets(base)).lower()
    if re.search(GEMM, base):
        return "gemm"
    parts = [part for part in FORMATS.sub("", base.replace("_", " ")).split() if part]
    return " ".join(parts) or base


def _identifiers(mangled: str) -> str:
    """The nested name of a mangled one, up to its template arguments."""
    start = _MANGLED.match(mangled)
    place, parts = (start.end() if start else 0), []
    while digits := re.compile(r"\d+").match(mangled, place):
        place = digits.end() + int(digits[0][:6])
        parts.append(mangled[digits.end() : place])
    return "::".join(parts) or mangled


def _without_brackets(name: str) -> str:
    """A demangled name without `<…>` and `(…)` at any depth; those that stand before the name stay out, too."""
    out, depth = [], 0
    for char in name.replace("(anonymous namespace)::", ""):
        depth += char in "<("
        if not depth:
            out.append(char)
        depth = max(depth - (char in ">)"), 0)
    return "".join(out).strip() or name
