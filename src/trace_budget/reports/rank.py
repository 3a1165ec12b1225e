"""The answer of `rank`: candidates by expected saving, what they save together, and what each adds to the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from trace_budget.projection.candidates import CandidateSet
from trace_budget.projection.rank import Ranked, Ranking, verdicts
from trace_budget.reports.project import token_of, verdict_of
from trace_budget.reports.structure import steps_by
from trace_budget.reports.throughput import served
from trace_budget.schema.caveats import MOST_NAMED, of_several
from trace_budget.schema.documents import plain
from trace_budget.schema.documents.project import Ends, Joint, Rank
from trace_budget.schema.findings import Findings
from trace_budget.schema.report import Line, Report, Table, TableColumn, trace_facts
from trace_budget.schema.trace import Caveat
from trace_budget.units import ms_from_ns, ms_from_us, show_number, show_pct, show_us, us_from_ns

COLUMNS = (
    TableColumn("candidate", "candidate"),
    TableColumn("us_per_call", "us/call", 3),
    TableColumn("calls_per_step", "calls"),
    TableColumn("expected_ms_per_token", "ms/token", 4),
    TableColumn("expected_pct", "% of token", 3, answer=True),
    TableColumn("low_pct", "low %", 3),
    TableColumn("high_pct", "high %", 3),
    TableColumn("marginal_pct", "adds %", 3),
    TableColumn("verdict", "verdict", answer=True),
)


def rank_report(found: Findings, ranking: Ranking, asked: CandidateSet) -> Report:
    """The Report of a ranking."""
    rows = pl.DataFrame([_row(row) for row in ranking.rows], infer_schema_length=None)
    token = ranking.rows[0].alone.token
    whole = token.token_ns * token.tokens_per_step
    joint = Joint(
        saving_us_per_token=Ends(*ranking.joint.over(token.tokens_per_step).each(us_from_ns).ends),
        pct=Ends(*ranking.joint.times(100).over(whole).ends),
        sum_of_alone_pct=100 * ranking.sum_ns / whole,
    )
    rate = served(found, token.token_ns)
    answer = Rank(
        token=token_of(ranking.rows[0].alone),
        joint=joint,
        verdicts=verdicts(ranking),
        steps_by=steps_by(found),
        rows=[_told(row) for row in ranking.rows],
        throughput=None if rate is None else rate.document_with(ranking.joint.times(100).over(whole)),
    )
    table = Table("candidates", "", COLUMNS, rows)
    return Report(
        "trace-budget/rank/1",
        answer,
        trace_facts(found.trace),
        (*_lines(ranking, whole), *(() if rate is None else (rate.line_with(100 * ranking.joint.expected / whole),))),
        (table,),
        _why(ranking),
        _caveats(ranking.rows),
    )


def _told(row: Ranked) -> dict[str, object]:
    """The document of one candidate: its place in the set, and all that `project` answers."""
    return {
        "id": row.candidate.id,
        "group": row.candidate.group,
        "in_joint": row.chosen,
        **plain(verdict_of(row.alone)),
    }


def _caveats(rows: Sequence[Ranked]) -> tuple[Caveat, ...]:
    """What is to be known of all candidates, and of some with their names; of one kind the first few."""
    out: dict[str, list[Caveat]] = {}
    for caveat in of_several([(row.candidate.id, row.alone.caveats) for row in rows]):
        out.setdefault(caveat.code, []).append(caveat)
    return tuple(each for alike in out.values() for each in _first_few(alike))


def _first_few(alike: Sequence[Caveat]) -> Iterator[Caveat]:
    """Caveats of one code, the rest of very many summed up."""
    yield from alike[:MOST_NAMED]
    rest = alike[MOST_NAMED:]
    if rest:
        text = f"the same kind for other candidates, {len(rest)} times"
        yield Caveat(rest[0].code, text, sum(each.count for each in rest), rest[0].severity)


def _row(row: Ranked) -> dict[str, object]:
    p = row.alone
    whole = p.token.token_ns * p.token.tokens_per_step
    return {
        "candidate": row.candidate.id,
        "kernel": p.match.kernel,
        "us_per_call": us_from_ns(float(p.saving.expected.mean())),
        "calls_per_step": p.match.calls_per_step,
        "expected_us_per_step": us_from_ns(p.limits.expected),
        "expected_ms_per_token": ms_from_us(us_from_ns(p.limits.expected) / p.token.tokens_per_step),
        "expected_pct": p.pct.expected,
        "low_pct": p.pct.low,
        "high_pct": p.pct.high,
        "marginal_us_per_step": None if row.marginal_ns is None else us_from_ns(row.marginal_ns),
        "marginal_pct": None if row.marginal_ns is None else 100 * row.marginal_ns / whole,
        "in_joint": row.chosen,
        "verdict": p.verdict.verdict,
        "why": p.verdict.why,
    }


def _lines(ranking: Ranking, whole_ns: float) -> tuple[Line, ...]:
    """What the set is worth together, beside what its members would add up to."""
    token = ranking.rows[0].alone.token
    joint, total = ranking.joint, ranking.sum_ns
    lost = total - joint.expected
    text = (
        f"together {show_number(ms_from_us(us_from_ns(joint.expected) / token.tokens_per_step), 4)} ms of "
        f"{show_number(ms_from_ns(token.token_ns), 3)} ms a token = {show_pct(100 * joint.expected / whole_ns)} "
        f"({show_pct(100 * joint.low / whole_ns)} to {show_pct(100 * joint.high / whole_ns)})"
    )
    sums = (
        f"added up they would be {show_pct(100 * total / whole_ns)}: savings do not add, "
        f"{show_us(us_from_ns(lost))} us a step are counted twice"
    )
    if abs(lost) <= 1e-6 * max(abs(total), 1.0):
        sums = (
            f"added up they are {show_pct(100 * total / whole_ns)}, the same: none of these takes from "
            "another, as others may"
        )
    elif lost < 0:
        sums = (
            f"added up they would be {show_pct(100 * total / whole_ns)}: together they free a path that none "
            "frees alone"
        )
    return (Line(text, "title"), Line(sums), *(Line(note, "dim") for note in _left_out(ranking)))


def _left_out(ranking: Ranking) -> Iterator[str]:
    """Which candidates the joint figure lacks, and why."""
    invalid = sum(bool(row.alone.saving.invalid) for row in ranking.rows)
    rivals = sum(not row.chosen for row in ranking.rows) - invalid
    if rivals:
        yield f"{rivals} candidate(s) are left out of the joint figure: another of their group saves more"
    if invalid:
        yield f"{invalid} candidate(s) are left out of the joint figure: they are INVALID"


def _why(ranking: Ranking) -> tuple[Line, ...]:
    """The reason behind each verdict, and what the last column means."""
    adds = Line("adds %: what the whole set would lose without this candidate (expected, undiluted)", "dim")
    return (
        *(Line(f"{row.candidate.id}: {row.alone.verdict.verdict}, {row.alone.verdict.why}") for row in ranking.rows),
        adds,
    )
