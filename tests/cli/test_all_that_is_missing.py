"""One run of `project` tells all that is missing, not one thing after the other was mended."""

from __future__ import annotations

from pathlib import Path

from trace_budget.__main__ import main

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"


def test_a_missing_saving_and_a_name_of_several_kernels_are_told_together(capfd) -> None:  # type: ignore[no-untyped-def]
    code = main(["project", str(SAMPLE), "--kernel", "gd"])
    told = capfd.readouterr().err
    assert code == 2
    assert "exactly one saving" in told
    assert "gdn_fused" in told


def test_a_missing_saving_alone_is_told_alone(capfd) -> None:  # type: ignore[no-untyped-def]
    assert main(["project", str(SAMPLE), "--kernel", "gdn_fused"]) == 2
    told = capfd.readouterr().err
    assert "exactly one saving" in told
    assert "Also" not in told
