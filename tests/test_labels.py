"""Labels of kernels: unique in their set, taken back by `--kernel`, with the function first."""

from __future__ import annotations

import html
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared_traces import SHARED, needs_shared
from trace_budget import open_trace
from trace_budget.errors import TraceBudgetError
from trace_budget.kernel_names import MOST_REFERENCES, demangled, named
from trace_budget.labels import labels
from trace_budget.projection.names import matching
from trace_budget.render import as_markdown, as_terminal
from trace_budget.render.as_html import tables
from trace_budget.schema.report import Report, Table, TableColumn
from trace_budget.text import cells, safe

ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::{}<c10::BFloat16>, std::array<char*, 3ul> >(int)"
)
GEMM = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_{}_MI16x16x1_SN_LDSB1_AFC0_" + "GRVWA8_GRVWB8_" * 20 + "WS64"
SETS = [
    ["gdn_fused", "gdn_fused_v2", "_Z9gdn_fusedIfLi4EEvPT_", "a_gdn_fused"],
    [ELEMENTWISE.format("CUDAFunctor_add"), ELEMENTWISE.format("CUDAFunctorOnSelf_add"), "elementwise"],
    [GEMM.format("MT16x16x512"), GEMM.format("MT64x16x256"), GEMM.format("MT64x16x256") + "_WGM8"],
    ["ns::k<int, 1>(float*)", "ns::k<int, 2>(float*)", "other::k<int, 1>(float*)", "k"],
    ["f(int)", "f(float)", "Memcpy DtoH (Device -> Pageable)", "Memcpy DtoH (Device -> Pinned)"],
    ["attention.kd", "rmsnorm<3>(float*) [clone .kd]", "rmsnorm<4>(float*) [clone .kd]"],
    ["x" * 400, "x" * 399 + "y", "y" + "x" * 399, "x" * 200 + "y" + "x" * 199],
]


def check(names: list[str], width: int) -> list[str]:
    made = labels(names, width)
    for name, label in zip(names, made, strict=True):
        assert matching(label, names) == [name], (label, width)
    return made


@pytest.mark.parametrize("names", SETS)
@pytest.mark.parametrize("width", [16, 32, 60, 80, 120])
def test_labels_are_unique_and_taken_back(names: list[str], width: int) -> None:
    assert len(set(check(names, width))) == len(names)


WORDS = st.sampled_from(
    ["gemm", "void ", "ns::", "<", ">", "(", ")", ", ", "_", "64x64", "128", "float", "a", "…", "中"]
)


@settings(max_examples=150, deadline=None)
@given(names=st.lists(st.lists(WORDS, min_size=1, max_size=30).map("".join), min_size=1, max_size=6, unique=True))
def test_any_names_keep_apart(names: list[str]) -> None:
    made = labels(names, 32)
    assert len(set(made)) == len({named(name).recorded for name in names})


def test_the_function_comes_first_and_what_differs_after_it() -> None:
    add, other = labels([ELEMENTWISE.format("CUDAFunctor_add"), ELEMENTWISE.format("CUDAFunctor_mul")], 60)
    assert add.startswith("vectorized_elementwise_kernel<")
    assert ("add" in add, "mul" in other) == (True, True)
    assert labels(["void vllm::reshape_and_cache<float>(float*)", "gemm"], 60)[0] == "reshape_and_cache"
    small, large = labels([GEMM.format("MT16x16x512"), GEMM.format("MT64x16x256")], 40)
    assert ("MT16x16x512" in small, "MT64x16x256" in large) == (True, True)


def test_a_set_is_told_apart_from_kernels_that_are_not_shown() -> None:
    alone, beside = "f<int, 1>(float*)", "f<int, 2>(float*)"
    assert labels([alone], 60) == ["f"]
    assert labels([alone], 60, [beside]) == ["f<int, 1>"]


def test_a_name_that_stands_for_more_than_memory_holds_stays_as_it_is() -> None:
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    nested = "1bI" + "S_I" * 33 + "1aS0_E" + "".join(f"S{digits[level]}_E" for level in range(1, 34))
    assert len("_Z1f" + nested) < 260  # each level doubles the text: 2^34 characters
    assert demangled("_Z1f" + nested + "S1_" * (MOST_REFERENCES - 10)) is None
    assert named("_ZN2ck6kernelI" + "S1_" * 60 + "EvT_").base == "kernel"


def kernels_of(path: Path) -> list[str]:
    try:
        trace = open_trace(path)
    except TraceBudgetError:
        return []
    names: list[str] = trace.gpu_ops["name"].cast(pl.String).drop_nulls().unique(maintain_order=True).to_list()
    return names


@needs_shared
@pytest.mark.parametrize("path", sorted(SHARED.glob("*/*")), ids=lambda path: path.name)
def test_every_real_trace_in_every_output(path: Path) -> None:
    if not path.is_file() or path.stat().st_size > 30e6 or not (names := kernels_of(path)):
        pytest.skip("no kernels")
    frame = pl.DataFrame({"kernel": names, "us": [1.5] * len(names)})
    table = Table("kernels", "", (TableColumn("kernel", "kernel"), TableColumn("us", "us", 1)), frame)
    report = Report("x/1", {}, tables=(table,))
    for width in (60, 80, 120):
        text = as_terminal.for_screen(width, colour=False).render(report).decode()
        rows = [line.removesuffix("1.5").rstrip() for line in text.splitlines()[1:]]
        assert [matching(row, names) for row in rows] == [[name] for name in names]
        assert max(map(cells, text.splitlines())) <= width
    marked = as_markdown.render(report).decode().splitlines()
    rows = [line.strip("|").replace("\\|", "|").split(" | ")[0].strip().strip("`") for line in marked[2:]]
    assert [matching(row, names) for row in rows] == [[name] for name in names]
    page = html.unescape(tables.table(table))
    assert all(safe(name) in page for name in names)
