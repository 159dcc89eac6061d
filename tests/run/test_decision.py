"""The decision of a third-party protocol: checked, and contained in the result."""

from __future__ import annotations

import math
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx import protocols
from pnyx.errors import Unreadable
from pnyx.store.records import runs


def came_to(decision: object) -> pnyx.Protocol:
    """A protocol named "odd" that returns this decision without a call."""

    async def script(brief: pnyx.Brief, panel: pnyx.Panel) -> Any:
        await panel.enter("complete")
        return decision

    return pnyx.Protocol("odd", "", pnyx.Phases((pnyx.Transition(pnyx.START, "complete"),)), script)


def decided(**fields: Any) -> pnyx.Decision:
    return pnyx.Decision(**{"answer": "yes", **fields})


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        ("yes", "it must return a Decision, not str"),
        (decided(status="running"), "status must be one of consensus, "),
        (decided(status="paused"), "status must be one of consensus, "),
        (decided(status="bogus"), "status must be one of consensus, "),
        (decided(answer=" "), "answer must be text that is not blank, not ' '"),
        (decided(answer=None), "answer must be text that is not blank, not None"),
        (decided(confidence=7.0), "confidence must be a number from 0 to 1, or None, not 7.0"),
        (decided(rigor=-0.1), "rigor must be a number from 0 to 1, or None, not -0.1"),
        (decided(agreement=math.nan), "agreement must be a number from 0 to 1, or None, not nan"),
        (decided(agreement="all"), "agreement must be a number from 0 to 1, or None, not 'all'"),
        (decided(dissent=("no",)), "dissent must be a tuple of Dissent objects with texts, not ('no',)"),
        (decided(dissent=None), "dissent must be a tuple of Dissent objects with texts, not None"),
        (decided(dissent=(pnyx.Dissent("A", "m:a", None),)), "dissent must be"),  # type: ignore[arg-type]
        (decided(detail={"share": math.nan}), "detail must be JSON: Out of range float values"),
        (decided(detail={"seats": {"A"}}), "detail must be JSON: Object of type set"),
        (decided(detail=[("seats", 2)]), "detail must be a mapping, not [('seats', 2)]"),
        (decided(rounds=math.inf), "rounds must be a whole number, not inf"),
        (decided(rounds=True), "rounds must be a whole number, not True"),
        (decided(rounds=-1), "rounds must be a whole number, not -1"),
        (decided(final_answer=4), "final_answer must be text or None, not 4"),
        (decided(support_rule=["votes"]), "support_rule must be text or None"),
        (decided(stop_reason=None), "stop_reason must be text, not None"),
        (decided(converged="yes"), "converged must be true, false or None, not 'yes'"),
        (decided(consensus_reached=1), "consensus_reached must be true, false or None, not 1"),
    ],
)
async def test_an_invalid_decision_fails_its_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, decision: object, expected: str
) -> None:
    page = came_to(decision)
    monkeypatch.setattr(protocols, "get", lambda name: page)
    monkeypatch.chdir(tmp_path)
    async with pnyx.open_runner(providers={"m": pnyx.FakeProvider([])}) as runner:
        failed = await pnyx.ask("Why?", panel="m:a*2", runner=runner)
        assert (failed.status, failed.stop_reason) == ("failed", "error")
        assert failed.detail["message"].startswith(f"ScriptError: odd: {expected}")
        assert await pnyx.resume(failed.run_id, runner=runner) == failed
        log = await runner.database.read(lambda c: runs.log(c, failed.run_id))
        assert [event.type for event in log].count("run_finished") == 1


@pytest.mark.parametrize(
    ("status", "reported", "expected"),
    [
        ("consensus", None, True),
        ("majority", None, False),
        ("plurality", None, False),
        ("deadlock", None, False),
        ("stalled", None, False),
        ("decided", None, None),
        ("single", None, None),
        ("majority", True, True),
        ("consensus", False, False),
        ("decided", False, False),
    ],
)
async def test_consensus_reached_comes_from_the_protocol_or_else_from_the_status(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: str, reported: bool | None, expected: bool | None
) -> None:
    page = came_to(decided(status=status, consensus_reached=reported))
    monkeypatch.setattr(protocols, "get", lambda name: page)
    monkeypatch.chdir(tmp_path)
    result = await pnyx.ask("Why?", panel="m:a*2", providers={"m": pnyx.FakeProvider([])})
    assert result.to_json()["consensus_reached"] is expected


@pytest.mark.parametrize(
    "odd",
    [
        *(
            {"detail": "none"},
            {"detail": [1]},
            {"seats": None},
            {"seats": 7},
            {"seats": ["A"]},
            {"dissent": None},
        ),
        *({"dissent": ["no"]}, {"usage": []}, {"answer": 4}, {"rounds": "two"}, {"status": None}),
    ],
    ids=str,
)
def test_a_stored_result_with_a_field_of_another_type_is_a_clear_error(odd: dict[str, Any]) -> None:
    values: dict[str, Any] = {f.name: f.default for f in fields(pnyx.Decision) if f.default is not MISSING}
    values |= {"answer": "yes", "detail": {}, "run_id": "x", "protocol": "voting", "question": "Why?"}
    values |= {"seats": (), "dropped": (), "degraded": False, "usage": {}, "elapsed_s": 0.0}
    document = pnyx.Result(**values).to_json()
    assert pnyx.Result.from_json(document).answer == "yes"
    with pytest.raises(Unreadable, match="the result of run x cannot be read: "):
        pnyx.Result.from_json({**document, **odd})
