"""The accelerator gives what the pure path gives: samples, real traces, damage, mutants, at several segment sizes."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kineto_both import needs_library, same_reading
from kineto_damages import DAMAGES
from kineto_mutants import EVENTS, segment
from kineto_texts import LAYOUTS, ORDERS, Digits, document, kernel
from shared_traces import SHARED, needs_shared
from trace_budget.schema.trace import Trace

pytestmark = needs_library
ROOT = Path(__file__).parents[3]
SAMPLES = sorted(
    path
    for folder in ("kineto", "broken")
    for path in (ROOT / "sample_traces" / folder).glob("*.json*")
    if not path.name.endswith(".truth.json")
)
REAL = sorted(SHARED.glob("kineto/**/*.json.gz"))
SIZES = (64, 777, 20_000, 4 << 20)
TINY_BYTES, SMALL_BYTES = 3_000, 100_000


@pytest.mark.parametrize("segment_bytes", SIZES)
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_samples(path: Path, segment_bytes: int) -> None:
    if segment_bytes < 1_000 and path.stat().st_size > TINY_BYTES:
        segment_bytes *= 100
    found = same_reading(path, segment_bytes)
    if path.parent.name == "kineto":
        assert isinstance(found, Trace)
        assert (found.engine, found.complete) == ("c", True)


@needs_shared
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_traces(path: Path) -> None:
    for segment_bytes in SIZES[2:] if path.stat().st_size < SMALL_BYTES else SIZES[3:]:
        found = same_reading(path, segment_bytes)
        assert isinstance(found, Trace)
        assert found.engine == "c"


@pytest.mark.parametrize("segment_bytes", SIZES)
@pytest.mark.parametrize("case", DAMAGES)
def test_damage(tmp_path: Path, case: str, segment_bytes: int) -> None:
    good = [kernel(f"k{index}", 1_000 + 10 * index, 5.125, correlation=index) for index in range(60)]
    path = tmp_path / "t.json"
    path.write_bytes(document([*good[:31], DAMAGES[case].text("kineto"), *good[31:]], order="events_in_the_middle"))
    assert isinstance(same_reading(path, segment_bytes), Trace)


def mutated(random: Random) -> bytes:
    """A document whose list holds whole, odd and broken events, with fields that look like events behind it."""
    events = [segment(random)[1:-1] for _ in range(random.randrange(1, 5))] + [random.choice(EVENTS)] * 2
    text = b'{"schemaVersion":1,"traceEvents":[' + b",".join(part for part in events if part.strip())
    text += random.choice(
        (b"", b"]", b"]}", b'],"more":[{"a":1},{"b":[2]},{"ph":3}]}', b'],"x":{}}{"traceEvents":[{}]}')
    )
    return text + b" " * random.choice((0, 0, 90))


@pytest.mark.parametrize("seed", range(0, 160, 8))
def test_mutated_documents(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "t.json"
    for number in range(seed, seed + 8):
        random = Random(number)
        path.write_bytes(mutated(random))
        same_reading(path, random.choice(SIZES))


TOKENS = st.sampled_from(
    [0, 7, -1, None, "7", "stream 7", "x", Digits("7.0"), Digits("1.0005"), 2**63, 10**17, "é", [1]]
)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "ph": st.sampled_from(["X", "X", "X", "s", None]),
                "cat": st.sampled_from(
                    ["kernel", "Kernel", "gpu_memcpy", "cuda_runtime", "cuda_sync", "x", "", None, 3]
                ),
                "name": st.sampled_from(
                    ["a", "b", "Context Sync", "nn.Module: x", "cudaFree", "\U0001f680", "é\n", None]
                ),
                **dict.fromkeys(("pid", "tid", "ts", "dur"), TOKENS),
            },
            optional={
                "args": st.none()
                | st.dictionaries(st.sampled_from(["stream", "device", "correlation", "grid", "kind", "é"]), TOKENS)
            },
        ),
        max_size=9,
    ),
    st.sampled_from(LAYOUTS),
    st.sampled_from(ORDERS),
    st.sampled_from(SIZES),
)
def test_generated_documents(
    tmp_path_factory: pytest.TempPathFactory, events: list[dict[str, Any]], layout: str, order: str, segment_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("trace") / "t.json"
    path.write_bytes(document(events, None, layout, order))
    same_reading(path, segment_bytes)
