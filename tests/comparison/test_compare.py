"""Simulated integrations with a known outcome: each situation is named, and its figures are those of the simulator."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from gpu_simulator import Kernel, Program, random_program, simulate, step_savings_ns, to_trace
from gpu_simulator.edited import Change, edited, heaviest
from trace_budget.comparison.compare import Asked, Comparison, compare
from trace_budget.comparison.pairing import paired
from trace_budget.projection.candidates import Candidate, Sequence
from trace_budget.projection.project import project_candidate
from trace_budget.schema.options import Change as Stated
from trace_budget.schema.options import Policy, Scope, Selection, TokenInput

CHAINS = ("linear_graph", "hybrid", "rocm_streamed_graph", "streams_hidden", "forkjoin_graph", "pdl")
SEED = 2


def shorter(kernel: Kernel, name: str, part: float, new_name: str = "") -> Kernel:
    """The kernel `part` shorter, if it has the name."""
    if kernel.name != name:
        return kernel
    return replace(kernel, work_ns=round(kernel.work_ns * (1 - part)), name=new_name or name)


def asked_of(name: str, change: Stated | None = None) -> Asked:
    return Asked((Candidate("", change or Stated(), Selection(name)),), stated=change is not None)


def compared(program: Program, change: Change, asked: Asked | None = None) -> tuple[Comparison, float]:
    """The comparison of a program with its changed self, and the true saving per step in ns."""
    before, after = simulate(program), simulate(edited(program, change))
    (pair,) = paired(to_trace(before), to_trace(after), Scope())
    truth = float(step_savings_ns(before, after).mean())
    return compare(pair, asked or asked_of(heaviest(program)[0])), truth


@pytest.mark.parametrize("kind", CHAINS)
def test_a_kernel_truly_shortened_is_realised(kind: str) -> None:
    program = random_program(kind, SEED)
    name, _ = heaviest(program)
    got, truth = compared(program, lambda k: shorter(k, name, 0.4))
    assert got.outcome.word == "realised"
    assert got.realised.saving_ns == pytest.approx(truth, rel=0.02)
    assert got.engagement is not None
    assert (got.engagement.word, got.engagement.same_name) == ("engaged", True)
    row = got.sites.filter(pl.col("kernel") == name)
    assert row["change"].to_list() == ["shrank"] * row.height
    assert got.moved.beside_ns == 0


@pytest.mark.parametrize("kind", ["linear_graph", "hybrid", "rocm_streamed_graph"])
def test_in_a_chain_the_measured_change_predicts_the_step_exactly(kind: str) -> None:
    program = replace(random_program(kind, 4))
    name, _ = heaviest(program)
    got, truth = compared(program, lambda k: shorter(k, name, 0.3))
    assert got.predicted is not None
    assert got.predicted.expected_ns == pytest.approx(truth, rel=0.02)
    assert got.outcome.conversion == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("kind", CHAINS)
def test_a_new_name_in_the_old_place_is_found(kind: str) -> None:
    program = random_program(kind, SEED)
    name, _ = heaviest(program)
    got, _ = compared(program, lambda k: shorter(k, name, 0.4, "brand_new"))
    assert got.outcome.word == "realised"
    assert got.engagement is not None
    assert got.engagement.new_names == ("brand_new",)
    assert (got.engagement.word, got.engagement.old_calls_after) == ("engaged", 0.0)
    assert got.engagement.layers == got.engagement.layers_before > 0
    assert got.engagement.steps_hit == got.engagement.steps > 0
    changes = dict(got.sites.select("kernel", "change").rows())
    assert (changes[name], changes["brand_new"]) == ("vanished", "appeared")


@pytest.mark.parametrize("kind", ["linear_graph", "hybrid", "rocm_streamed_graph"])
def test_a_kernel_fused_with_its_neighbour(kind: str) -> None:
    program = random_program(kind, SEED)
    name, beside = heaviest(program)

    def fuse(kernel: Kernel) -> Kernel | None:
        if kernel.name == beside:
            return None
        return replace(kernel, name="fused") if kernel.name == name else kernel

    got, _ = compared(program, fuse)
    sites = {row["kernel"]: row for row in got.sites.to_dicts()}
    assert got.outcome.word == "realised"
    assert (sites[name]["change"], sites[beside]["change"], sites["fused"]["change"]) == (
        "vanished",
        "vanished",
        "appeared",
    )
    assert set(str(sites["fused"]["counterpart"]).split(" + ")) == {name, beside}
    assert got.engagement is not None
    assert got.engagement.new_names == ("fused",)


@pytest.mark.parametrize("kind", CHAINS)
def test_a_kernel_taken_out_vanishes_and_nothing_takes_its_place(kind: str) -> None:
    program = random_program(kind, SEED)
    name, _ = heaviest(program)
    got, truth = compared(program, lambda k: None if k.name == name else k)
    assert got.outcome.word == "realised"
    assert got.realised.saving_ns == pytest.approx(truth, rel=0.02)
    assert got.engagement is not None
    assert (got.engagement.taken, got.engagement.new_names) == (1.0, ())
    assert got.sites.filter(pl.col("change") == "vanished")["kernel"].unique().to_list() == [name]


@pytest.mark.parametrize("kind", ["linear_graph", "hybrid", "eager_1stream", "piecewise"])
@pytest.mark.parametrize("named", [True, False])
def test_cost_that_moved_to_the_neighbour_is_called_relocated(kind: str, named: bool) -> None:
    program = random_program(kind, SEED)
    name, beside = heaviest(program)
    names = [k.name for s in program.ranks[0] for k in kernels_of(s)]
    grown = names.count(name) / names.count(beside)

    def move(kernel: Kernel) -> Kernel:
        if kernel.name == beside:
            return replace(kernel, work_ns=kernel.work_ns + round(4_000 * grown))
        return replace(kernel, work_ns=kernel.work_ns - 4_000) if kernel.name == name else kernel

    asked = asked_of(name) if named else Asked()
    got, _ = compared(program, move, asked)
    assert got.outcome.word == "relocated"
    assert got.neighbours["kernel"].unique().to_list() == [beside]
    # Where the neighbour opens a layer, its first call has no old kernel before it.
    assert 0.9 * got.moved.own_ns <= got.moved.beside_ns <= 1.01 * got.moved.own_ns


@pytest.mark.parametrize(("back_ns", "relocated"), [(1_600, False), (2_400, True)])
def test_neighbours_that_take_back_less_than_half_are_not_called_relocated(back_ns: int, relocated: bool) -> None:
    program = random_program("linear_graph", SEED)
    name, beside = heaviest(program)
    names = [k.name for s in program.ranks[0] for k in kernels_of(s)]
    grown = back_ns * names.count(name) / names.count(beside)

    def move(kernel: Kernel) -> Kernel:
        if kernel.name == beside:
            return replace(kernel, work_ns=kernel.work_ns + round(grown))
        return replace(kernel, work_ns=kernel.work_ns - 4_000) if kernel.name == name else kernel

    got, _ = compared(program, move, asked_of(name))
    assert got.moved.relocated is relocated
    assert (got.outcome.word == "relocated") is relocated
    assert got.moved.beside_ns == pytest.approx(back_ns / 4_000 * got.moved.own_ns, rel=0.1)


def kernels_of(step: object) -> list[Kernel]:
    """The kernels of a step's instructions, graph nodes included."""
    found: list[Kernel] = []
    for each in step.instructions:  # type: ignore[attr-defined]
        found += [each.kernel] if hasattr(each, "kernel") else [n.kernel for n in getattr(each, "nodes", ())]
    return found


@pytest.mark.parametrize("kind", [*CHAINS, "eager_1stream", "eager_2streams", "async_loop", "tp2"])
def test_a_kernel_that_never_ran_is_not_engaged(kind: str) -> None:
    program = random_program(kind, SEED)
    stated = asked_of(heaviest(program)[0], Stated(saving_us=1.0))
    got, _ = compared(program, lambda k: k, stated)
    assert got.outcome.word == "not engaged"
    assert got.engagement is not None
    assert got.engagement.old_calls_after == got.engagement.old_calls_before


@pytest.mark.parametrize("kind", ["linear_graph", "hybrid"])
def test_a_kernel_that_runs_in_half_of_the_layers_is_partly_engaged(kind: str) -> None:
    program = random_program(kind, SEED)
    name, _ = heaviest(program)
    got, _ = compared(program, lambda k: shorter(k, name, 0.5, "brand_new") if (k.layer or 0) % 2 else k)
    assert got.engagement is not None
    assert got.engagement.word == "partly engaged"
    layers = {k.layer for k in kernels_of(program.ranks[0][0]) if k.name == name and (k.layer or 0) % 2}
    assert got.engagement.layers == len(layers)
    assert got.engagement.taken == pytest.approx(got.engagement.new_calls / got.engagement.old_calls_before)
    assert "engaged" in got.outcome.why


@pytest.mark.parametrize("kind", ["linear_graph", "hybrid", "rocm_streamed_graph"])
def test_a_slower_kernel_regresses_the_step(kind: str) -> None:
    program = random_program(kind, SEED)
    name, _ = heaviest(program)
    got, truth = compared(program, lambda k: shorter(k, name, -0.5))
    assert truth < 0
    assert got.outcome.word == "regressed"


def test_work_hidden_behind_the_host_is_not_realised_and_the_replay_says_why() -> None:
    program = random_program("eager_1stream", 3)
    name, _ = heaviest(program)
    got, truth = compared(program, lambda k: shorter(k, name, 0.4), asked_of(name))
    assert truth == pytest.approx(0.0, abs=1.0)
    assert got.outcome.word in ("not resolved", "not realised")
    assert "hidden" in got.outcome.why
    assert got.predicted is not None
    assert got.predicted.expected_ns < 0.1 * got.predicted.naive_ns


def test_the_same_run_twice_is_no_change() -> None:
    got, _ = compared(random_program("forkjoin_graph", 1), lambda k: k, Asked())
    assert got.outcome.word == "no change"
    assert got.sites["change"].unique().to_list() == ["same"]
    assert got.drift == 1.0


def test_a_stated_saving_is_projected_on_the_run_before() -> None:
    program = random_program("linear_graph", SEED)
    name, _ = heaviest(program)
    whole_us = (
        min(k.work_ns for k in kernels_of(program.ranks[0][0]) + kernels_of(program.ranks[0][1]) if k.name == name)
        / 1000
    )
    asked = asked_of(name, Stated(saving_us=0.8 * whole_us))
    cut_ns = round(400 * whole_us)
    got, truth = compared(program, lambda k: replace(k, work_ns=k.work_ns - cut_ns) if k.name == name else k, asked)
    assert got.predicted is not None
    assert got.predicted.source == "candidate"
    assert got.predicted.naive_ns == pytest.approx(2 * truth, rel=0.02)
    assert got.outcome.conversion == pytest.approx(0.5, rel=0.03)
    assert got.outcome.word == "partly realised"


def test_clocks_that_differ_are_told() -> None:
    program = random_program("linear_graph", SEED)
    got, _ = compared(program, lambda k: replace(k, work_ns=round(k.work_ns * 1.05)), Asked())
    assert got.drift == pytest.approx(1.05, abs=0.002)
    assert "durations_drift" in [caveat.code for caveat in got.caveats]


def test_several_candidates_are_told_one_by_one_and_predicted_together() -> None:
    program = random_program("linear_graph", SEED)
    name, beside = heaviest(program)
    candidates = tuple(Candidate(which, Stated(saving_us=1.0), Selection(which)) for which in (name, beside))

    def change(kernel: Kernel) -> Kernel:
        return replace(kernel, work_ns=kernel.work_ns - 1_000) if kernel.name == name else kernel

    got, truth = compared(program, change, Asked(candidates, stated=True))
    both = {suspect.id: suspect for suspect in got.suspects}
    assert both[name].saved_ns == pytest.approx(truth, rel=0.01)
    assert both[beside].saved_ns == 0
    assert (both[name].engagement.word, both[beside].engagement.word) == ("engaged", "not engaged")
    assert got.predicted is not None
    assert got.predicted.naive_ns == pytest.approx(sum(s.predicted_ns or 0 for s in got.suspects), rel=0.01)
    assert got.predicted.expected_ns > both[name].saved_ns


def test_a_fused_sequence_is_followed_to_its_launch() -> None:
    program = random_program("linear_graph", SEED)
    name, beside = heaviest(program)
    names = (name, beside)

    def fuse(kernel: Kernel) -> Kernel | None:
        if kernel.name == beside:
            return None
        return replace(kernel, name="fused") if kernel.name == name else kernel

    mean_us = sum(k.work_ns for k in kernels_of(program.ranks[0][1]) if k.name == name) / 1000
    mean_us /= sum(k.name == name for k in kernels_of(program.ranks[0][1]))
    sequence = Candidate("fusion", Stated(new_us=mean_us), None, Sequence(names, mean_us))
    got, truth = compared(program, fuse, Asked((sequence,), stated=True))
    assert got.outcome.word == "realised"
    assert got.predicted is not None
    assert got.predicted.expected_ns == pytest.approx(truth, rel=0.05)
    assert got.engagement is not None
    assert (got.engagement.word, got.engagement.new_names) == ("engaged", ("fused",))


@pytest.mark.parametrize("change", [Stated(saving_us=500_000.0), Stated(new_us=2.0, baseline_us=300_000.0)])
def test_a_saving_that_contradicts_the_run_before_predicts_nothing(change: Stated) -> None:
    program = random_program("linear_graph", SEED)
    name, _ = heaviest(program)
    got, _ = compared(program, lambda k: shorter(k, name, 0.4), asked_of(name, change))
    assert (got.predicted, got.outcome.conversion) == (None, None)
    assert [suspect.predicted_ns for suspect in got.suspects] == [None]
    (told,) = [caveat for caveat in got.caveats if caveat.code == "saving_invalid"]
    why = project_candidate(got.pair.before, asked_of(name, change).candidates[0], TokenInput(), Policy()).verdict
    assert why.verdict == "INVALID"
    assert told.text == f"no prediction for {name}: {why.why.removesuffix('; --force overrides')}"


def test_of_several_candidates_the_impossible_one_alone_predicts_nothing() -> None:
    program = random_program("linear_graph", SEED)
    name, beside = heaviest(program)
    good = Candidate("good", Stated(saving_us=1.0), Selection(name))
    bad = Candidate("bad", Stated(saving_us=500_000.0), Selection(beside))
    got, _ = compared(program, lambda k: k, Asked((good, bad), stated=True))
    alone, _ = compared(program, lambda k: k, Asked((good,), stated=True))
    assert got.predicted is not None
    assert alone.predicted is not None
    assert got.predicted.expected_ns == pytest.approx(alone.predicted.expected_ns)
    assert {suspect.id: suspect.predicted_ns for suspect in got.suspects} == {
        "good": pytest.approx(alone.predicted.expected_ns),
        "bad": None,
    }
    assert [c.text.split(":")[0] for c in got.caveats if c.code == "saving_invalid"] == ["no prediction for bad"]
    none, _ = compared(
        program, lambda k: k, Asked((bad, replace(bad, id="worse", selection=Selection(name))), stated=True)
    )
    assert none.predicted is None
