"""What became of decisions, as people or graders tell it: what weights and calibration learn from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.answers.equivalence import read
from ..core.answers.extract import normalise, same
from ..core.stopping import STRONGEST_FIRST
from ..core.text import is_text
from ..errors import UsageError
from .accuracy import Answered
from .calibration import Outcome

__all__ = ["RESULTS", "JudgedRun", "judge", "measure", "outcomes", "questions"]

RESULTS = ("success", "partial", "failure")


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A decision that somebody judged.

    protocol: what its confidence is a `measure` of. result: one of `RESULTS`. raw: the confidence it had
    before any calibration, None where it had none. answers: (model, its short answer alone, before it heard
    of others; None for none), one for each seat. gold: the right answer, None where it is not known.
    """

    protocol: str
    result: str
    raw: float | None = None
    answers: tuple[tuple[str, str | None], ...] = ()
    gold: str | None = None


def judge(result: Mapping[str, Any], verdict: str, truth: str | None = None) -> JudgedRun:
    """What the result object of a run comes to once it is judged.

    truth: the right answer, as short as the decision's; without it a success says that the decision's
    final answer is right, and a failure does not say what is. A decision may fail with a right answer, but
    not succeed with another number, date, option, yes or no. Raises `UsageError` for that, where `truth` is
    empty or no text, and for a verdict that is none of `RESULTS`.
    """
    if verdict not in RESULTS:
        raise UsageError(f"what became of it is one of {', '.join(RESULTS)}, not {verdict!r}")
    detail = result["detail"]
    if truth is not None and not truth.strip():
        raise UsageError("the right answer is empty; leave it out where it is not known")
    if truth is not None and not is_text(truth):
        raise UsageError("the right answer is not text: it holds NUL or half a character")
    own = result["final_answer"]
    if verdict == "success" and truth and own is not None and _contradict(truth, own):
        raise UsageError(
            f"a success says that the decision's answer is right, which is {own!r} and not {truth!r}; say "
            "partial or failure, or leave the right answer out"
        )
    given = dict(enumerate(detail.get("given", ())))
    # Of an answer that was given to a seat, its model learns nothing, unless it is who gave it.
    models = {
        seat["seat"]: seat["model"]
        for n, seat in enumerate(result["seats"])
        if given.get(n, seat["model"]) == seat["model"]
    }
    native: Mapping[str, str | None] = detail.get("native") or {}
    # Of a success that is told in other words, the decision's own are right too, and models said those.
    gold = (own or truth) if verdict == "success" else truth
    raw = detail.get("raw_confidence", result["confidence"])
    answers = [(models[seat], _named(answer, gold)) for seat, answer in native.items() if seat in models]
    kind = measure(result["protocol"], detail.get("raw_rule", result.get("confidence_rule")))
    return JudgedRun(kind, verdict, raw, tuple(answers), gold and normalise(gold))


def _contradict(one: str, two: str) -> bool:
    """Whether answers cannot both be right. Words may mean the same in other words."""
    return not same(one, two) and "text" not in (read(one).kind, read(two).kind)


def measure(protocol: str, rule: str | None) -> str:
    """What a confidence is calibrated as: its protocol, apart where votes were asked for strongest first.

    rule: the name of the rule behind it. Where the strongest agree nobody else is asked, so that a share is
    of other questions than in a vote of all (design/reliability.md).
    """
    return f"{protocol}, {STRONGEST_FIRST}" if (rule or "").endswith(STRONGEST_FIRST) else protocol


def outcomes(history: Iterable[JudgedRun]) -> list[Outcome]:
    """Decisions with a confidence that turned out right or wrong; what is partly right is neither."""
    sure = [(one, one.raw) for one in history if one.raw is not None and one.result != "partial"]
    return [Outcome(one.protocol, raw, one.result == "success") for one, raw in sure]


def questions(history: Iterable[JudgedRun]) -> list[Answered]:
    """The answers of the models where the truth is known, one question a run.

    Of several seats of a model the first that answered counts: repeats of an answer are no further questions,
    and what is learned is how often one answer of the model is right. Votes asked for strongest first are
    left out: the others answered only where the strongest differed, and would look worse than they are.
    """
    fair = [one for one in history if one.gold is not None and not one.protocol.endswith(STRONGEST_FIRST)]
    return [Answered(_first(one), one.gold) for one in fair]


def _first(one: JudgedRun) -> dict[str, str | None]:
    answers: dict[str, str | None] = {}
    for model, answer in one.answers:
        if answers.get(model) is None:
            answers[model] = answer
    return answers


def _named(answer: str | None, gold: str | None) -> str | None:
    """The answer's canonical text; that of the right one where the two say the same."""
    if answer is None:
        return None
    return normalise(gold if gold is not None and same(answer, gold) else answer)
