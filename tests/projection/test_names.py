"""Kernel names as people type them."""

from __future__ import annotations

import pytest

from trace_budget.errors import UsageError
from trace_budget.kernel_names import demangled
from trace_budget.projection.names import closest, matching, spellings

MANGLED = "_Z9gdn_fusedIfLi4EEvPT_"
NAMES = ["gdn_fused", "gdn_fused_v2", "void gemm<float, 4>(int*)", "attention.kd", "rmsnorm [clone .kd]", MANGLED]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("gdn_fused", ["gdn_fused"]),
        ("gdn_fused_v", ["gdn_fused_v2"]),
        ("GDN_FUSED", []),
        ("attention", ["attention.kd"]),
        ("attention.kd", ["attention.kd"]),
        ("rmsnorm", ["rmsnorm [clone .kd]"]),
        ("gemm<float", ["void gemm<float, 4>(int*)"]),
        ("glob:gdn_*", ["gdn_fused", "gdn_fused_v2"]),
        ("glob:gdn_", []),
        ("glob:*norm", ["rmsnorm [clone .kd]"]),
        ("re:^gdn.*2$", ["gdn_fused_v2"]),
        ("re:^(gdn_fused|attention)$", ["gdn_fused", "attention.kd"]),
        (MANGLED, [MANGLED]),
    ],
)
def test_a_pattern_means_these_names(pattern: str, found: list[str]) -> None:
    assert matching(pattern, NAMES) == found


def test_an_exact_name_wins_over_names_that_contain_it() -> None:
    assert matching("gdn_fused", ["a_gdn_fused", "gdn_fused", "gdn_fused_v2"]) == ["gdn_fused"]
    assert matching("gdn_fused", ["a_gdn_fused", "gdn_fused.kd"]) == ["gdn_fused.kd"]


def test_a_broken_expression_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="not a regular expression"):
        matching("re:(", NAMES)


def test_mangled_names_are_found_by_what_they_say() -> None:
    assert demangled(MANGLED) == "void gdn_fused<float, 4>(float*)"
    assert matching("gdn_fused<float, 4>", [MANGLED, "other"]) == [MANGLED]
    assert demangled("gdn_fused") is None
    assert demangled("_Znot mangled at all") is None


@pytest.mark.parametrize("bomb", [r"re:(\w+)*!$", r"re:((\w*)*)*!$", r"re:(a|aa)+$"])
def test_an_expression_that_could_take_for_ever_does_not(bomb: str) -> None:
    assert matching(bomb, ["a" * 4_000 + "?"]) == []


def test_what_only_python_can_say_is_understood_too() -> None:
    assert matching(r"re:^gdn_(?!fused$)", NAMES) == ["gdn_fused_v2"]
    assert matching(r"re:(?P<x>d)n_f", NAMES) == ["gdn_fused", "gdn_fused_v2", MANGLED]
    with pytest.raises(UsageError, match="not a regular expression"):
        matching("re:" + "(" * 5_000 + ")" * 5_000, NAMES)


@pytest.mark.parametrize("typed", ["swigluu", "swglu", "Swiglu", "matmul_ogs_swiglo", "re:swigluu"])
def test_a_slip_in_one_word_of_a_long_name_is_seen(typed: str) -> None:
    long = "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu"
    assert long in closest(typed, ["kernel_unified_attention_3d", long, "void at::native::reduce_kernel<512, 1>()"])
    assert closest("zzzzzz", [long]) == []


def test_spellings_start_with_the_recorded_one() -> None:
    assert spellings("attention.kd") == ("attention.kd", "attention")
    assert spellings("plain") == ("plain",)


def test_what_matched_nothing_is_answered_with_what_is_like_it() -> None:
    assert closest("gdn_fuse_d", NAMES)[0] in ("gdn_fused", "gdn_fused_v2")
    assert "rmsnorm [clone .kd]" in closest("glob:rms_norm*", NAMES)
    assert closest("zzzzzz", ["gemm"]) == []
    assert len(closest("gdn", NAMES * 3, count=2)) <= 2


def test_a_name_as_tables_cut_it_is_understood() -> None:
    names = ["_matmul_ogs_NNT_16x128x256x1_swiglu", "_matmul_ogs_NNT_16x128x256x1", "void gemm<float, 4>(int*)"]
    assert matching("_matmul_ogs_NNT…8x256x1_swiglu", names) == names[:1]
    assert matching("void gemm<…(int*)", names) == names[2:]
