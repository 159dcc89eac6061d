"""`pnyx eval` grades the vote before a debate beside the decision after it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.interfaces.cli.test_eval import WRONG, by_name, loaded, measure, skilled
from tests.support.scripted import ScriptedHost

__all__ = ["loaded", "skilled"]


def test_the_vote_before_a_debate_is_graded_beside_its_result(skilled: ScriptedHost) -> None:
    arms = ("--arm", "deliberate:quick", "--arm", "consensus:quick")
    done = measure("--no-self-consistency", *arms, "--log", "log.jsonl")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()[1:]]
    right = {(row["arm"], row["id"]): row["correct"] for row in rows}
    ids = sorted({row["id"] for row in rows})
    for row in rows:
        votes = [right[f"lab:{model}", row["id"]] for model in WRONG]
        if row["arm"] in ("voting", "deliberate:quick"):
            # All wrong answers to a question are equal, so two votes decide, right or wrong.
            assert row["vote_only"] == (sum(votes) >= 2)
        elif row["arm"] in {f"lab:{model}" for model in WRONG}:
            assert row["vote_only"] is None
    found = by_name(done.json)
    for name in ("voting", "deliberate:quick", "consensus:quick"):
        talk = found[name]["talk"]
        changed = [r for r in rows if r["arm"] == name and r["correct"] != r["vote_only"]]
        assert talk["n"] == len(ids)
        assert (talk["rescued"], talk["lost"]) == (
            sum(r["correct"] for r in changed),
            sum(r["vote_only"] for r in changed),
        )
