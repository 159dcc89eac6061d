"""Existing answers, role sets and custom providers, on the command line and in the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pnyx as library
from pnyx.errors import ProviderError, UsageError
from pnyx.providers.adapter import SimpleProvider
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost

ANSWERS = [
    {"answer": "408", "reasoning": "17 * 24 = 340 + 68.", "source": "ann"},
    {"answer": "398", "reasoning": "17 * 24 = 340 + 58."},
]
REVIEW = "ACCEPTED: A's.\nREJECTED: B's.\nANSWER:\nIt is 408.\nFinal answer: 408"


@pytest.fixture
def answers(tmp_path: Path) -> str:
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in ANSWERS) + "\n\n")
    return str(path)


def test_responses_are_reviewed_with_one_call_of_one_seat(lab: ScriptedHost, answers: str) -> None:
    lab.on("*", text=REVIEW)
    command = ("ask", "What is 17 * 24?", "-p", "aggregate", "--responses", answers, "-m", "lab:alpha")
    assert pnyx(*command, "--dry-run", "--json").json["calls"] == {"least": 1, "most": 1}
    done = pnyx(*command, "--json")
    assert (done.code, done.json["final_answer"], len(lab.log)) == (0, "408", 1)
    for one in ANSWERS:
        assert one["reasoning"] in lab.log[0].text
    assert "ann" not in lab.log[0].text.split()


def test_a_debate_starts_from_responses(lab: ScriptedHost, answers: str) -> None:
    lab.on("*", text="DECISION:\nI have checked it.\nFinal answer: 408")
    done = pnyx("ask", "17 * 24?", "-p", "deliberate", "--responses", answers, "--json")
    assert (done.code, done.json["final_answer"]) == (0, "408")
    assert not any(request.text.startswith("You answer") for request in lab.log)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no response"),
        ("{", "line 1: not JSON"),
        ('{"answer": "a"}\n{"answr": "b"}', "line 2: unknown key 'answr'; a response has: answer"),
        ('[{"answer": "a"}, 3]', "response 2: a response is"),
        ('{"answer": "a"}\n{"answer": "  "}', "line 2: the answer is empty"),
        ('{"answer": "a", "reasoning": []}', "line 1: reasoning must be text"),
    ],
)
def test_an_invalid_file_is_refused_with_the_line(
    lab: ScriptedHost, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "r.jsonl").write_text(text)
    done = pnyx("ask", "Why?", "-p", "aggregate", "--responses", str(tmp_path / "r.jsonl"))
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert lab.log == []


def test_a_missing_file_and_a_protocol_without_responses_are_refused(lab: ScriptedHost, answers: str) -> None:
    missing = pnyx("ask", "Why?", "-p", "aggregate", "--responses", "nowhere.jsonl")
    assert (missing.code, "nowhere.jsonl: No such file" in missing.err) == (2, True)
    wrong = pnyx("ask", "Why?", "-p", "council", "--responses", answers)
    assert (wrong.code, "these do: aggregate, deliberate, moa, voting" in wrong.err) == (2, True)


def test_numbers_and_bare_texts_are_answers_too(lab: ScriptedHost, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('[{"answer": 408, "reasoning": null}, "398"]')
    lab.on("*", text=REVIEW)
    done = pnyx("ask", "Why?", "-p", "aggregate", "--responses", str(tmp_path / "r.json"), "--json")
    assert (done.code, done.json["agreement"]) == (0, 0.5)


def test_a_role_set_covers_every_seat_and_a_seats_own_role_takes_precedence(lab: ScriptedHost) -> None:
    done = pnyx("ask", "Why?", "--roles", "diverse", "--role", "2=a lawyer", "--json")
    assert [seat["role"].split(".")[0] for seat in done.json["seats"]] == [
        "skeptic",
        "a lawyer",
        "pragmatist",
    ]
    assert any("Your part on this panel: skeptic" in request.text for request in lab.log)
    red = pnyx("ask", "Why?", "--roles", "redteam", "--json")
    assert [s["role"].split(".")[0] for s in red.json["seats"]] == ["advocate", "skeptic", "skeptic"]
    unknown = pnyx("ask", "Why?", "--roles", "clowns")
    assert (unknown.code, "choose one of: diverse, redteam" in unknown.err) == (2, True)


def test_a_disabled_tool_is_listed_with_the_reason(lab: ScriptedHost, tmp_path: Path) -> None:
    with (tmp_path / "lab.toml").open("a") as file:
        file.write('[tools.web_search]\nbackend = "exa"\n')
    done = pnyx("ask", "Why?", "--tools")
    assert done.code == 0
    assert "web_search is off: Exa needs a key in $EXA_API_KEY" in done.err


class CustomProvider:
    """A provider with one method."""

    def __init__(self, *replies: object) -> None:
        self.replies, self.calls = list(replies), list[library.Call]()

    async def complete(self, call: library.Call) -> str:
        self.calls.append(call)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply  # type: ignore[return-value]


async def test_an_object_with_one_method_is_a_provider(tmp_path: Path) -> None:
    provider = CustomProvider(REVIEW)
    result = await library.aggregate(
        "What is 17 * 24?", responses=ANSWERS, panel=["mine:large"], providers={"mine": provider}
    )
    assert (result.final_answer, result.usage["calls"]) == ("408", 1)
    assert provider.calls[0].model == "large"
    assert "340 + 58" in provider.calls[0].prompt


async def test_unanimous_responses_cost_no_call_in_a_debate() -> None:
    provider = CustomProvider()
    result = await library.deliberate(
        "17 * 24?", responses=["408", "408"], panel=["mine:a", "mine:b"], providers={"mine": provider}
    )
    assert (result.final_answer, result.status, provider.calls) == ("408", "consensus", [])


async def test_a_failing_custom_provider_drops_only_its_seat() -> None:
    answer = "Final answer: 4"
    providers = {
        "bad": CustomProvider(ValueError("no luck"), ValueError("no luck"), ProviderError("auth", "no key")),
        "odd": CustomProvider(4, 4),
        "good": CustomProvider(answer, answer, answer),
    }
    panel = ["good:a", "bad:b", "odd:c", "good:d"]
    result = await library.ask("2 + 2?", protocol="voting", panel=panel, providers=providers)
    assert (result.final_answer, result.degraded) == ("4", True)
    reasons = {drop["model"]: drop["reason"] for drop in result.dropped}
    assert "ValueError: no luck" in reasons["bad:b"]
    assert "complete() returned int, not text" in reasons["odd:c"]


@pytest.mark.parametrize("written", [float("nan"), float("-inf"), {1, 2}])
async def test_a_tool_call_that_cannot_be_stored_is_reported_and_drops_its_seat(written: object) -> None:
    class Odd:
        async def complete(self, call: library.Call) -> library.Completion:
            return library.Completion("", tool_calls=(library.ToolCall("1", "read_page", {"n": written}),))

    answer = "Final answer: 4"
    providers: dict[str, SimpleProvider] = {"odd": Odd(), "good": CustomProvider(answer, answer, answer)}
    result = await library.ask(
        "2 + 2?", protocol="voting", panel=["good:a", "odd:b", "good:c"], providers=providers
    )
    (dropped,) = result.dropped
    assert "the arguments of the call to read_page are not JSON" in dropped["reason"]


@pytest.mark.parametrize(
    "made",
    [
        {"text": None},
        {"text": 3},
        {"text": "4", "model": None},
        {"text": "4", "sources": (3,)},
        {"text": "4", "tool_calls": ("read_page",)},
        {"text": "4", "finish_reason": "done"},
    ],
)
async def test_a_completion_that_cannot_be_stored_is_reported_and_drops_its_seat(
    made: dict[str, Any],
) -> None:
    class Odd:
        async def complete(self, call: library.Call) -> library.Completion:
            return library.Completion(**made)

    answer = "Final answer: 4"
    providers: dict[str, SimpleProvider] = {"odd": Odd(), "good": CustomProvider(answer, answer, answer)}
    result = await library.ask(
        "2 + 2?", protocol="voting", panel=["good:a", "odd:b", "good:c"], providers=providers
    )
    (dropped,) = result.dropped
    assert (result.status, list(made)[-1] in dropped["reason"]) == ("consensus", True)


async def test_invalid_responses_are_refused_in_the_library() -> None:
    with pytest.raises(UsageError, match="response 2: the answer is empty"):
        await library.aggregate(
            "Why?", responses=["yes", ""], panel=["m:a"], providers={"m": CustomProvider()}
        )


def test_a_dry_run_counts_tool_turns(lab: ScriptedHost, tmp_path: Path) -> None:
    plain = pnyx("ask", "Why?", "--dry-run", "--json").json
    tools = pnyx("ask", "Why?", "--dry-run", "--json", "--tools").json
    assert tools["calls"] == {"least": plain["calls"]["least"], "most": 5 * plain["calls"]["most"]}
    assert (tools["at_most"]["input_tokens"], tools["at_most"]["cost_usd"]) == (None, None)
    assert (
        "the context window of a model with tools is unknown"
        in pnyx("ask", "Why?", "--dry-run", "--tools").out
    )
    config = tmp_path / "lab.toml"
    for name in ("alpha", "beta", "gamma"):
        table = f'[models."lab:{name}"]\n'
        config.write_text(config.read_text().replace(table, f"{table}context = 8192\n"))
    known = pnyx("ask", "Why?", "--dry-run", "--json", "--tools").json["at_most"]
    assert known["input_tokens"] == 8192 * tools["calls"]["most"]
    assert known["cost_usd"] > plain["at_most"]["cost_usd"]
    assert lab.log == []


async def test_an_object_that_is_not_a_provider_is_refused_with_what_it_lacks() -> None:
    with pytest.raises(UsageError, match="object is not a provider: it needs `async def complete"):
        await library.ask("Why?", panel=["m:a"], providers={"m": object()})  # type: ignore[dict-item]
