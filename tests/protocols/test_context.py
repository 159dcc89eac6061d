"""Every protocol shows what a run brings along (earlier decisions, sources) to the seats it asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pnyx
from pnyx import protocols
from pnyx.config.schema import Settings
from tests.support.scripted import ScriptedHost

PLAN = {
    "subtasks": [
        {"label": "a", "question": "What is the first part?", "needs": []},
        {"label": "b", "question": "What is the second part?", "needs": ["a"]},
    ]
}


@pytest.mark.parametrize("name", protocols.names())
async def test_every_call_carries_the_context_in_a_fence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", "sk-planted-0123456789")
    async with ScriptedHost() as host:
        if name == "decompose":
            host.on("alpha", call=1, text=json.dumps(PLAN))
        lab = {"kind": "openai", "base_url": host.openai, "api_key_env": "LAB_KEY"}
        settings = Settings.model_validate(
            {"providers": {"lab": lab}, "storage": {"url": str(tmp_path / "a.db")}}
        )
        result = await pnyx.ask(
            "And now?",
            protocol=name,
            panel=["lab:alpha", "lab:beta", "lab:gamma"],
            settings=settings,
            context=[pnyx.Material("Turn 1", "Question: What then?\n\nDecision: the heron stays.")],
        )
    assert result.answer
    assert len(host.log) >= (10 if name == "decompose" else 1)
    for request in host.log:
        text = json.dumps(request.body["messages"])
        assert " Turn 1>" in text, text
        assert "the heron stays" in text, text
