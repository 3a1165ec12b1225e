"""Programs with their kernels changed, renamed, fused or taken out: what an integration really does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpu_simulator.plan import planned
from gpu_simulator.program import GraphLaunch, GraphNode, Instruction, Kernel, Launch, Program, Step

Change = Callable[[Kernel], Kernel | None]


def edited(program: Program, change: Change) -> Program:
    """The program with every kernel as `change` makes it; None takes the launch out, and what waited for it waits for
    what it waited for."""
    return replace(program, ranks=tuple(tuple(_step(step, change) for step in steps) for steps in program.ranks))


def heaviest(program: Program) -> tuple[str, str]:
    """The layer kernel with most time of all, and the one launched right behind its first call."""
    plan = planned(program)
    kernels = [plan.nodes[op].kernel for op in plan.ops if plan.nodes[op].rank == 0]
    inside = [k for k in kernels if k is not None and k.kind == "kernel" and k.layer is not None]
    names = [k.name for k in inside if k.collective is None]
    most = max(dict.fromkeys(names), key=lambda name: sum(k.work_ns for k in inside if k.name == name))
    return most, names[names.index(most) + 1]


def _step(step: Step, change: Change) -> Step:
    made = [_instruction(each, change) for each in step.instructions]
    return replace(step, instructions=tuple(each for each in made if each is not None))


def _instruction(instruction: Instruction, change: Change) -> Instruction | None:
    if isinstance(instruction, Launch):
        kernel = change(instruction.kernel)
        return None if kernel is None else replace(instruction, kernel=kernel)
    if isinstance(instruction, GraphLaunch):
        return replace(instruction, nodes=_nodes(instruction.nodes, change))
    return instruction


def _nodes(nodes: tuple[GraphNode, ...], change: Change) -> tuple[GraphNode, ...]:
    """The nodes that stay, renumbered; edges lead around those taken out."""
    stands_for: list[tuple[tuple[int, int], ...]] = []
    kept: list[GraphNode] = []
    for node in nodes:
        after = tuple(dict((edge for p, lag in node.after for edge in _through(stands_for[p], lag))).items())
        kernel = change(node.kernel)
        if kernel is None:
            stands_for.append(after)
            continue
        stands_for.append(((len(kept), -1),))
        kept.append(replace(node, kernel=kernel, after=after))
    return tuple(kept)


def _through(edges: tuple[tuple[int, int], ...], lag: int) -> list[tuple[int, int]]:
    """Edges to what a node stands for: itself with the lag asked for (-1), else what it waited for."""
    return [(p, lag if own < 0 else own) for p, own in edges]
