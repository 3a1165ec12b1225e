"""Times of a plan without contention: one pass in plan order, since every node comes after all it depends on."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_simulator.plan import Node, Plan


def forward(plan: Plan, work_ns: Sequence[int]) -> tuple[list[int], list[int]]:
    """Start and end of every node; `work_ns` has one entry a node and replaces the work in the plan."""
    nodes = plan.nodes
    start, end = [0] * len(nodes), [0] * len(nodes)
    closing = {group[-1]: group for group in plan.groups}
    for i, node in enumerate(nodes):
        at = 0
        for p, lag in node.after:
            at = max(at, end[p] + lag)
        for p, lag in node.released:
            at = max(at, start[p] + lag)
        start[i] = at
        if node.kernel is None:
            end[i] = max([at + work_ns[i], *(end[p] + lag for p, lag in node.until)])
        elif node.ahead >= 0:
            start[i], end[i] = _overlapped(node, at, end[node.ahead], work_ns[node.ahead], work_ns[i])
        elif node.kernel.collective is None:
            end[i] = at + work_ns[i]
        elif i in closing:
            group = closing[i]
            done = max(start[member] for member in group) + max(work_ns[member] for member in group)
            for member in group:
                end[member] = done
    return start, end


def _overlapped(node: Node, at: int, ahead_end: int, ahead_work_ns: int, work_ns: int) -> tuple[int, int]:
    """Start and end of a kernel that may start before the one ahead of it on the stream has ended."""
    if node.pdl is None:
        raise ValueError("a node with a kernel ahead has no launch attribute")
    at = max(at, ahead_end - round((1 - node.pdl.trigger) * ahead_work_ns))
    return at, max(at + node.pdl.prologue_ns, ahead_end) + work_ns
