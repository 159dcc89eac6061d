"""The runs of a process, by their ids and counted by their owners."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pnyx.run.leases.local_runs import LocalRuns


def handle(run_id: str, owner: str) -> Any:
    return SimpleNamespace(run_id=run_id, spec=SimpleNamespace(owner=owner))


def test_a_run_that_was_resumed_is_known_after_the_end_of_its_first_handle() -> None:
    runs, ended = LocalRuns(), list[str]()
    runs.on_ended = lambda: ended.append("one")
    first, resumed, other = handle("r1", "ada"), handle("r1", "ada"), handle("r2", "ben")
    for one in (first, resumed, other):
        runs.launched(one)
    assert runs.by_owner == {"ada": 2, "ben": 1}
    runs.ended(first)
    assert (runs.get("r1"), runs.by_owner, len(ended)) == (resumed, {"ada": 1, "ben": 1}, 1)
    for one in (resumed, other):
        runs.ended(one)
    # Names of owners are chosen by others, and none may stay.
    assert (dict(runs), dict(runs.by_owner), len(ended)) == ({}, {}, 3)
