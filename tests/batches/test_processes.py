"""Worker processes: a death costs one task, growth and age end a worker, errors of trace-budget end the run."""

from pathlib import Path

import pytest

from batches.work_for_engines import die_on_three, fail_on_three, grow_on_three, refuse_on_three, slow_who, square, who
from trace_budget.batches.engines import engine, processes
from trace_budget.batches.engines.processes import Processes
from trace_budget.errors import OutputError, UsageError


@pytest.fixture
def team() -> Processes:
    return Processes(2)


def test_every_task_comes_back_once(team: Processes) -> None:
    done = list(team.run(square, range(25)))
    team.close()
    assert sorted((each.task, each.value) for each in done) == [(n, n * n) for n in range(25)]
    assert {each.died for each in done} == {""}


def test_a_worker_that_dies_costs_its_task_alone(team: Processes) -> None:
    done = {each.task: each for each in team.run(die_on_three, range(8))}
    team.close()
    assert {n: each.value for n, each in done.items()} == {n: None if n == 3 else n for n in range(8)}
    assert [n for n, each in done.items() if "died while it worked" in each.died] == [3]


def test_a_failure_nobody_foresaw_costs_its_task_alone(team: Processes) -> None:
    done = {each.task: each for each in team.run(fail_on_three, range(6))}
    team.close()
    assert done[3].died == "ZeroDivisionError: three"
    assert [n for n, each in done.items() if each.died] == [3]


def test_an_error_of_the_dataset_ends_the_run(team: Processes) -> None:
    with pytest.raises(OutputError, match="out: the disk is full") as caught:
        list(team.run(refuse_on_three, range(200)))
    team.close()
    assert caught.value.exit_code == 5


def test_workers_are_replaced_when_they_are_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "RECYCLE_TASKS", 3)
    team = Processes(1)
    pids = [each.value[1] for each in team.run(who, range(7)) if each.value]
    team.close()
    assert [pids.index(pid) for pid in pids] == [0, 0, 0, 3, 3, 3, 6]


def test_workers_are_replaced_when_they_have_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "RECYCLE_BYTES", 150 << 20)
    team = Processes(1)
    pids = [each.value[1] for each in team.run(grow_on_three, range(6)) if each.value]
    team.close()
    assert [pids.index(pid) for pid in pids] == [0, 0, 0, 0, 4, 4]


def test_a_worker_that_starts_slowly_is_no_trouble_for_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run ends while its second worker is still starting; the next run finds it ready in the middle."""
    marker = str(tmp_path / "first")
    slow = f"import os, time\nif os.path.exists({marker!r}): time.sleep(1)\nopen({marker!r}, 'w').close()\n"
    monkeypatch.setattr(processes, "_PROGRAM", slow + processes._PROGRAM)
    team = Processes(2)
    assert sorted(each.value or 0 for each in team.run(square, range(2))) == [0, 1]
    done = list(team.run(slow_who, range(60)))
    team.close()
    assert [each.died for each in done] == [""] * 60
    assert sorted(each.task for each in done) == list(range(60))
    assert len({each.value[1] for each in done if each.value}) == 2


def test_engines_that_are_not_there_are_refused() -> None:
    with pytest.raises(UsageError, match="no such engine"):
        engine("spark", 1, None)
    with pytest.raises(UsageError, match="--scheduler goes with --engine dask"):
        engine("processes", 1, "tcp://127.0.0.1:8786")
