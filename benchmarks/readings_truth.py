"""How often steps, tokens and layers are read right: random recordings of odd kinds whose truth is known.

    python benchmarks/readings_truth.py [--n 20] [--kinds mix,pauses] [--show] [--write docs/method/validation.md]

Of each recording one kernel is asked about, with every other question answered so that GO can be said, at a target just
above or just below what is true. `exact`: calls and token of the first reading are right. `told`: another reading that
is given has them, or nothing is claimed (INVALID, or refused), or what is lost is told, or both are means over the
steps of a cycle. `false`: a GO or NO-GO that the truth contradicts.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from benchmarks.marked_section import write_section

from gpu_simulator.odd_recordings import ODD_KINDS, Odd, odd_recording
from gpu_simulator.recordings import Truth

SAVING_NS = 3_000
LOST = {"launches_without_kernels", "lost_kernels", "replays_without_kernels"}  # then high takes what is missing
TITLES = ("kind", "recordings", "exact", "told", "wrong", "false verdicts")
TOKEN_WITHIN, CALLS_WITHIN = 0.03, 0.01


def judged(odd: Odd, above: bool) -> tuple[str, str]:
    """(exact, told, wrong or false), and in words what was said, at a target above or below the truth."""
    import trace_budget as tb
    from trace_budget.errors import TraceBudgetError
    from trace_budget.schema.options import Change, Policy, Range, Selection

    possible = [odd.truth, *(Truth(calls, token, None) for calls, token in odd.truth.other_readings)]
    shares = [truth.pct(SAVING_NS) for truth in possible]
    target = max(shares) * 1.15 if above else min(shares) * 0.8
    change = Change(saving_us=SAVING_NS / 1000, overhead_us=0.0, per_step_us=0.0, hit_rate=Range(1.0, 1.0))
    policy = Policy(target_pct=target, noise_pct=0.01, runs=50, dilution=1.0)
    try:
        report = tb.project(odd.trace, Selection(f"re:^{odd.kernel}$"), change, policy=policy)
    except TraceBudgetError as error:
        return "told", f"refused: {error.line()[:100]}"
    said = report.document
    verdict = str(said["verdict"])
    first = (float(said["matched"]["calls_per_step"]), float(said["token"]["token_us"]) * 1000)  # type: ignore[index]
    words = f"{verdict} calls {first[0]:g} token {first[1] / 1e3:.1f} us ({said['steps_by']})"
    if (verdict == "GO" and above) or (verdict == "NO-GO" and not above):
        return "false", words
    if any(alike(first, truth) for truth in possible):
        return "exact", words
    rest = [(float(r["calls_per_step"] or 0), float(r["token_us"] or 0) * 1000) for r in said.get("readings") or ()]  # type: ignore[attr-defined]
    known = verdict == "INVALID" or any(alike(one, truth) for one in rest for truth in possible)
    known |= bool({caveat.code for caveat in report.caveats} & LOST)
    # Means over the steps of a cycle are right where both are of one step: their quotient is that of the cycle.
    known |= any(abs(first[0] / first[1] * truth.token_ns / truth.calls - 1) <= TOKEN_WITHIN for truth in possible)
    return ("told" if known else "wrong"), words


def alike(said: tuple[float, float], truth: Truth) -> bool:
    """Whether calls and token are those of the truth."""
    calls, token = said
    return (
        abs(calls - truth.calls) <= 0.01 * truth.calls and abs(token - truth.token_ns) <= TOKEN_WITHIN * truth.token_ns
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(ODD_KINDS))
    parser.add_argument("--write", type=Path, help="put the table between the marks of this page")
    parser.add_argument("--show", action="store_true", help="print every recording that is not exact")
    asked = parser.parse_args()
    lines = ["| " + " | ".join(TITLES) + " |", "| :--- |" + " ---: |" * (len(TITLES) - 1)]
    print("\n".join(lines))
    for kind in asked.kinds.split(","):
        counts: Counter[str] = Counter()
        for seed in range(asked.seed, asked.seed + asked.n):
            odd = odd_recording(kind, seed)
            outcome, words = judged(odd, above=seed % 2 == 0)
            counts[outcome] += 1
            if asked.show and outcome != "exact":
                truth = f"calls {odd.truth.calls:g} token {odd.truth.token_ns / 1e3:.1f} us"
                print(f"  {outcome} {kind} {seed}: {words}; true: {truth}")
        row = (kind, asked.n, counts["exact"], counts["told"], counts["wrong"], counts["false"])
        lines.append("| " + " | ".join(map(str, row)) + " |")
        print(lines[-1], flush=True)
    if asked.write:
        last = asked.seed + asked.n - 1
        told = f"On {datetime.now(UTC):%Y-%m-%d}, seeds {asked.seed} to {last} of each kind:"
        write_section(asked.write, "readings", "\n".join([told, "", *lines]))


if __name__ == "__main__":
    main()
