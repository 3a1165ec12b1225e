"""Runs a program as it is or with calls truly shortened, and tells what that saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpu_simulator.fluid import fluid
from gpu_simulator.forward import forward
from gpu_simulator.plan import Node, Plan, planned
from gpu_simulator.program import Program

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """Times of one run: of every node of the plan, and of its device ops (in the order of `plan.ops`), in ns."""

    plan: Plan
    node_start_ns: Int64Array
    node_end_ns: Int64Array

    @property
    def program(self) -> Program:
        """The program that ran."""
        return self.plan.program

    def ops(self, rank: int = 0) -> list[tuple[int, Node]]:
        """Node number and node of the device ops of a rank, in the order they were enqueued."""
        nodes = self.plan.nodes
        return [(i, nodes[i]) for i in self.plan.ops if nodes[i].rank == rank]

    def op_times(self) -> tuple[Int64Array, Int64Array]:
        """Start and end of every device op."""
        index = np.asarray(self.plan.ops, dtype=np.int64)
        return self.node_start_ns[index], self.node_end_ns[index]

    def edges(self) -> list[tuple[int, int, int]]:
        """The true order between device ops: (op, later op, lag in ns), as node numbers."""
        nodes = self.plan.nodes
        found = [(p, i, lag) for i in self.plan.ops for p, lag in nodes[i].after if nodes[p].kernel is not None]
        return found + [(nodes[i].ahead, i, 0) for i in self.plan.ops if nodes[i].ahead >= 0]

    def step_ends(self, rank: int = 0) -> Int64Array:
        """When each step ends: at its last host instruction (sync loop) or its last device op (async loop)."""
        if self.program.loop == "sync":
            return self.node_end_ns[[last for _, _, last in self.plan.step_span[rank]]]
        ops = self.ops(rank)
        ends = np.zeros(len(self.program.ranks[rank]), dtype=np.int64)
        np.maximum.at(ends, [node.step for _, node in ops], self.node_end_ns[[i for i, _ in ops]])
        return ends

    def makespan_ns(self, rank: int = 0) -> int:
        """From the start of the program to the last event of a rank, host or device."""
        mine = [i for i, node in enumerate(self.plan.nodes) if node.rank == rank]
        return int(self.node_end_ns[mine].max())


def simulate(program: Program | Plan, delta_ns: int | Sequence[int] | Int64Array = 0) -> Run:
    """Run a program with `delta_ns` taken off each device op: one number, or one per op in the order of `plan.ops`.

    An op cannot take less than no time; a negative delta makes it longer. A plan may be given to avoid planning twice.
    """
    plan = program if isinstance(program, Plan) else planned(program)
    work = [node.work_ns for node in plan.nodes]
    deltas = np.broadcast_to(np.asarray(delta_ns, dtype=np.int64), len(plan.ops)).tolist()
    for op, delta in zip(plan.ops, deltas, strict=True):
        work[op] = max(0, work[op] - delta)
    start, end = (fluid if plan.program.machine.contention else forward)(plan, work)
    return Run(plan, np.array(start, dtype=np.int64), np.array(end, dtype=np.int64))


def deltas(plan: Plan, name: str, saving_ns: int, ranks: Sequence[int] | None = None) -> Int64Array:
    """`saving_ns` for every call of one kernel (on some ranks only, if given), 0 for all other ops."""
    chosen = [
        plan.nodes[op].kernel.name == name and (ranks is None or plan.nodes[op].rank in ranks)  # type: ignore[union-attr]
        for op in plan.ops
    ]
    return np.where(chosen, saving_ns, 0).astype(np.int64)


def step_savings_ns(before: Run, after: Run) -> Int64Array:
    """How much shorter each measured step became (rank 0): a step lasts from the end of the one before to its own."""
    lengths = [np.diff(run.step_ends(), prepend=0) for run in (before, after)]
    saved: Int64Array = (lengths[0] - lengths[1])[before.program.warm_up :]
    return saved


def true_saving_ns(program: Program | Plan, name: str, saving_ns: int, ranks: Sequence[int] | None = None) -> float:
    """The saving per measured step, in ns, when every call of a kernel really takes `saving_ns` less."""
    plan = program if isinstance(program, Plan) else planned(program)
    after = simulate(plan, deltas(plan, name, saving_ns, ranks))
    return float(step_savings_ns(simulate(plan), after).mean())
