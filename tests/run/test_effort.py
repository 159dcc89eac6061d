"""How much a seat may think: in which calls which setting holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.config.schema import ModelSettings
from pnyx.core.thinking import Thinking
from pnyx.errors import ConfigError, UsageError
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.interfaces.views.plan import plan
from pnyx.run.batch import request_key
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.run.spending.expectation import kind_of, panel_of

SEATS = ("m:a", "m:b", "m:c")
CONFIGURED = """
[providers.m]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
[run]
reasoning_effort = "low"
language = "pt-br"
max_output_tokens = 1000
[run.phases.proposing]
thinking_tokens = 500
[models."m:b"]
reasoning_effort = "medium"
"""
BALLOT = '{"text": "", "vote": "FINALIZE", "label": "Participant A", "ranking": []}'


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pnyx.Settings:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "named.toml").write_text(CONFIGURED)
    monkeypatch.setenv("PNYX_CONFIG", "named.toml")
    return open_settings()


async def calls(settings: pnyx.Settings, **request: Any) -> list[pnyx.Call]:
    """Return the calls of a council, in order."""

    def reply(call: pnyx.Call) -> str:
        return BALLOT if call.schema and call.schema.name == "ballot" else "APPROVE\nFinal answer: 4"

    host = pnyx.FakeProvider(reply)
    await pnyx.ask(
        "What is 2 + 2?",
        panel=SEATS,
        protocol="council",
        settings=settings,
        providers={"m": host},
        **request,
    )
    return host.calls


def sent(calls: list[pnyx.Call]) -> dict[str, tuple[str | None, int | None, int]]:
    return {call.model: (call.effort, call.thinking_tokens, call.max_tokens) for call in calls}


async def test_answers_have_the_configured_effort_and_ballots_none(settings: pnyx.Settings) -> None:
    made = await calls(settings)
    proposals = sent(made[:3])
    assert proposals == {"a": ("low", 500, 1500), "b": ("medium", 500, 1500), "c": ("low", 500, 1500)}
    reviews = sent(made[3:6])
    assert reviews == {"a": ("low", None, 1000), "b": ("medium", None, 1000), "c": ("low", None, 1000)}
    for name in ("ballot", "approval"):
        short = sent([call for call in made if call.schema and call.schema.name == name])
        assert set(short.values()) == {("none", None, 1000)}, name


async def test_a_request_for_more_thought_is_about_answers(settings: pnyx.Settings) -> None:
    made = await calls(settings, effort="high", thinking_tokens=2000)
    assert set(sent(made[:6]).values()) == {("high", 2000, 3000)}
    ballots = [call for call in made if call.schema and call.schema.name == "ballot"]
    assert {call.effort for call in ballots} == {"none"}


async def test_a_request_for_no_thought_is_about_all_calls(settings: pnyx.Settings) -> None:
    made = await calls(settings, effort="none")
    assert {(call.effort, call.thinking_tokens) for call in made} == {("none", 0)}


async def test_the_table_of_a_phase_holds_for_its_ballots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: pnyx.Settings
) -> None:
    monkeypatch.setenv("PNYX_CONFIG", "more.toml")
    table = '[run.phases.voting]\nreasoning_effort = "medium"\n'
    (tmp_path / "more.toml").write_text(CONFIGURED + table)
    made = await calls(open_settings())
    efforts = {call.schema.name: call.effort for call in made if call.schema}
    assert efforts == {"ballot": "medium", "approval": "none"}


async def test_a_request_for_a_phase_or_a_seat_comes_before_one_for_all(settings: pnyx.Settings) -> None:
    named = {"m:a": "high", "3": 700, "proposing": 900, "voting": "low"}
    made = await calls(settings, effort="medium", efforts=named)
    proposals, reviews = sent(made[:3]), sent(made[3:6])
    assert proposals == {"a": ("high", 900, 1900), "b": ("medium", 900, 1900), "c": ("medium", 900, 1900)}
    assert reviews == {"a": ("high", None, 1000), "b": ("medium", None, 1000), "c": ("medium", 700, 1700)}
    efforts = {call.schema.name: call.effort for call in made if call.schema}
    assert efforts == {"ballot": "low", "approval": "none"}


@pytest.mark.parametrize(
    ("names", "third"),
    [
        ({"3": "low", "m:one": "high"}, "low"),  # a number before a model
        ({"m:one": "high", "3": "low"}, "low"),
        ({"one": "high"}, "high"),  # without its provider
        ({"last": "none"}, "none"),  # as the panel names it
        ({"Judge": "low"}, None),
        ({"m:z": "low"}, None),
    ],
)
def test_seats_are_named_as_for_roles(
    settings: pnyx.Settings, names: dict[str, str | int], third: str | None
) -> None:
    request = RunRequest(
        question="Why?", models=("m:one*2", "last=m:one"), protocol="moa", judge="m:z", efforts=names, seed=1
    )
    made = resolve(request, settings)
    asked = [(made.efforts_of_seats.get(seat.label) or {}).get("effort") for seat in made.seats]
    assert asked[2] == third
    assert asked[0] == names.get("m:one", names.get("one"))
    assert made.judge is not None
    named_judge = names.get("Judge", names.get("m:z"))
    assert made.efforts_of_seats.get(made.judge.label, {}).get("effort") == named_judge
    plain = resolve(replace(request, efforts={}), settings)
    elsewhere = resolve(replace(request, seed=2), settings)
    assert elsewhere.same_request(made)
    assert not plain.same_request(made)
    assert kind_of(elsewhere) == kind_of(made) != kind_of(plain)
    assert panel_of(elsewhere) == panel_of(made) != panel_of(plain)
    assert request_key(made) != request_key(plain)


def test_a_judge_that_is_not_on_the_panel_has_no_number(settings: pnyx.Settings) -> None:
    request = RunRequest(question="Why?", models=("m:one*3",), protocol="moa", judge="m:z")
    with pytest.raises(
        UsageError, match=r"no seat '4' for an effort; phases .*; seats are 1 to 3, or a model"
    ):
        resolve(replace(request, efforts={"4": "low"}), settings)
    with pytest.raises(UsageError, match="no seat '4' for a role; seats are 1 to 3, or a model"):
        resolve(replace(request, roles={"4": "a skeptic"}), settings)


async def test_thinking_leaves_room_for_the_answer_in_a_short_reply(settings: pnyx.Settings) -> None:
    models = {**settings.models, "m:a": ModelSettings(max_output=400)}
    made = await calls(settings.model_copy(update={"models": models}), thinking_tokens=5000)
    assert sent(made[:3])["a"] == ("low", 300, 400)


def test_a_plan_counts_the_tokens_of_thinking(settings: pnyx.Settings) -> None:
    seats = ("m:a", "m:c")
    plain = plan(resolve(RunRequest(question="Why?", models=seats, protocol="single"), settings))
    more = RunRequest(question="Why?", models=seats, protocol="single", thinking_tokens=3000)
    assert plain.output_tokens is not None
    assert (plan(resolve(more, settings)).output_tokens or 0) >= plain.output_tokens // 1500 * 4000


def test_the_language_is_that_of_the_request_or_the_settings(settings: pnyx.Settings) -> None:
    configured = resolve(RunRequest(question="Why?", models=SEATS), settings)
    assert configured.language == configured.panel.language == "pt-BR"
    requested = resolve(RunRequest(question="Why?", models=SEATS, language="ZH-hant"), settings)
    assert requested.panel.language == "zh-Hant"
    assert not requested.same_request(configured)


@pytest.mark.parametrize(
    ("request_fields", "message"),
    [
        ({"effort": "max"}, "effort must be one of none, low, medium, high, not 'max'"),
        ({"thinking_tokens": -1}, "thinking_tokens must be a whole number from 0 to 100000000, not -1"),
        ({"thinking_tokens": True}, "thinking_tokens must be a whole number from 0 to 100000000, not True"),
        (
            {"efforts": {"proposing": "max"}},
            "efforts.proposing must be one of none, low, medium, high, or a number of tokens from 0 to "
            "100000000, not 'max'",
        ),
        (
            {"efforts": {"votin": "low"}},
            "there is no phase and no seat 'votin' for an effort; did you mean voting? Phases are",
        ),
        ({"efforts": {"4": "low"}}, "there is no phase and no seat '4' for an effort; phases are"),
        ({"language": "German"}, "language must be a language tag such as en, de or pt-BR, not 'German'"),
        ({"language": ""}, "language must be a language tag such as en, de or pt-BR, not ''"),
    ],
)
def test_other_values_are_refused(settings: pnyx.Settings, request_fields: Any, message: str) -> None:
    request = RunRequest(question="Why?", models=SEATS, **request_fields)
    with pytest.raises(UsageError) as caught:
        resolve(request, settings)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            '[run.phases.votin]\nreasoning_effort = "low"',
            "run.phases.votin in bad.toml:5: no protocol has a phase of this name; did you mean voting?",
        ),
        (
            '[run.phases.idle]\nreasoning_effort = "low"',
            "run.phases.idle in bad.toml:5: no protocol has a phase of this name",
        ),
        (
            '[run.phases.vote]\neffort = "low"',
            "unknown key run.phases.vote.effort in bad.toml:5; did you mean reasoning_effort?",
        ),
        (
            '[run.phases.vote]\nreasoning_effort = "much"',
            "run.phases.vote.reasoning_effort in bad.toml:5 must be one of "
            "'none', 'low', 'medium' or 'high', not 'much'",
        ),
        ("[run.phases]\nvote = 3", "run.phases.vote in bad.toml:5 must be a table, not 3"),
        (
            "[run]\nthinking_tokens = -1",
            "run.thinking_tokens in bad.toml:5 must be at least 0, not -1",
        ),
        (
            '[run]\nlanguage = "German"',
            "run.language in bad.toml:5 must be a language tag such as en, de or pt-BR, not 'German'",
        ),
        (
            '[models."m:a"]\nreasoning_effort = "much"',
            'models."m:a".reasoning_effort in bad.toml:5 must be one of '
            "'none', 'low', 'medium' or 'high', not 'much'",
        ),
    ],
)
def test_other_settings_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_CONFIG", "bad.toml")
    provider = '[providers.m]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
    (tmp_path / "bad.toml").write_text(provider + table + "\n")
    with pytest.raises(ConfigError) as caught:
        open_settings()
    assert str(caught.value).startswith(message)


def test_the_example_of_the_docs_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reasoning.md").read_text("utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_CONFIG", "example.toml")
    (tmp_path / "example.toml").write_text(example)
    spec = resolve(RunRequest(question="Why?", models=("openai:gpt-6.1-sol", "openai:x")), open_settings())
    strong, other = spec.seats
    assert spec.thinking(strong, "propose") == Thinking("high", 4000)
    assert spec.thinking(strong, "commit") == Thinking("low", 4000)
    assert spec.thinking(other, "commit") == Thinking("medium", 4000)
