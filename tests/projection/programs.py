"""Small simulated programs and the projections on their traces, in microseconds."""

from __future__ import annotations

from typing import NamedTuple

from gpu_simulator import Kernel, Machine, Program, Run, Step, simulate, to_trace
from gpu_simulator.program import Cpu, GraphNode, Instruction, Launch, Record, Sync
from trace_budget import api
from trace_budget.projection.project import Projection
from trace_budget.questions import project as project_question
from trace_budget.schema.findings import Findings
from trace_budget.schema.options import Change, Policy, Selection, TokenInput
from trace_budget.schema.trace import Trace

US = 1_000
NO_LATENCY = Machine()


class Saved(NamedTuple):
    """Savings per step in us."""

    naive: float
    exposed: float
    chain: float
    low: float
    expected: float
    high: float


def k(name: str, us: float, stream: int = 0, cost_us: float = 0, gap_us: float = 0) -> Launch:
    """An eager launch."""
    return Launch(Kernel(name, round(us * US)), stream, round(cost_us * US), round(gap_us * US))


def node(name: str, us: float, after: tuple[int, ...] = (), branch: int = 0) -> GraphNode:
    """A graph node behind others, without lag."""
    return GraphNode(Kernel(name, round(us * US)), tuple((before, 0) for before in after), branch)


def program(*instructions: Instruction, steps: int = 1, **rest: object) -> Program:
    """The same step over and over; a wait at its end keeps the annotation open."""
    return Program("vector", (tuple(Step(instructions) for _ in range(steps)),), **rest)  # type: ignore[arg-type]


def loop(host_us: float, device_us: float, asynchronous: bool, steps: int = 10) -> Program:
    """One kernel a step; the host needs `host_us` of its own, and waits for this step or for the one before."""
    out = []
    for index in range(steps):
        body = (Cpu(round((host_us - 3) * US)), k("k", device_us, cost_us=2), Record(index, 0, 1 * US))
        wait = Sync(event=index - 1 if asynchronous else index)
        out.append(Step(body, (wait,) if index or not asynchronous else ()))
    kind = "async" if asynchronous else "sync"
    return Program("vector", (tuple(out),), loop=kind, warm_up=2 if asynchronous else 0)


def run_of(of: Program | Run | Trace) -> Trace:
    """The trace of a program, of a run, or itself."""
    if isinstance(of, Trace):
        return of
    return to_trace(of if isinstance(of, Run) else simulate(of))


def asked(of: Program | Run | Trace, kernel: str, change: Change, loop: str = "auto") -> Projection:
    """The projection of one change of a kernel."""
    return project_question.projection(
        run_of(of), Selection(kernel), change, token=TokenInput(loop=loop), policy=Policy()
    )


def saved_us(of: Program | Run | Trace, kernel: str, saving: float, loop: str = "auto") -> Saved:
    """What a saving per call does to a step."""
    limits = asked(of, kernel, Change(saving_us=saving, clip=True), loop).limits
    parts = (limits.naive, limits.exposed, limits.chain, limits.low, limits.expected, limits.high)
    return Saved(*(round(float(part) / US, 6) for part in parts))


def found(of: Program | Run | Trace) -> Findings:
    """The analysed trace."""
    return api.analyse(run_of(of))
