"""Feedback on decisions, from people or graders: the input of weights and calibration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.answers.replies.extract import normalise, same
from ..core.answers.same.equivalence import read
from ..core.text import is_text
from ..core.voting.stopping import STRONGEST_FIRST
from ..errors import UsageError
from .accuracy import AnsweredQuestion
from .calibration import Outcome

__all__ = ["RESULTS", "JudgedRun", "distinct", "judge", "measure", "outcomes", "questions"]

RESULTS = ("success", "partial", "failure")


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A decision with its outcome.

    protocol: its `measure`. result: one of `RESULTS`. raw: its support, or None. answers: (model, final
    answer before it read others' answers, or None), one per seat. gold: the right answer, or None if unknown.
    panel: its models, each once, sorted; empty if unknown. rule: the name of the rule of its support.
    asked: equal for runs with the same question; None if it was not read, or is not known.
    """

    protocol: str
    result: str
    raw: float | None = None
    answers: tuple[tuple[str, str | None], ...] = ()
    gold: str | None = None
    panel: tuple[str, ...] = ()
    rule: str | None = None
    asked: str | None = None


def judge(result: Mapping[str, Any], verdict: str, truth: str | None = None) -> JudgedRun:
    """Return the judged run of a result object.

    truth: the right answer in short form. Without it, a success means that the decision's final answer is
    right, and a failure leaves the right answer unknown. A decision may fail although its answer is right,
    but it cannot succeed with another number, date, option, yes or no. Raises `UsageError` in that case, if
    `truth` is empty or not text, and for a verdict that is not in `RESULTS`.
    """
    if verdict not in RESULTS:
        raise UsageError(f"the outcome must be one of {', '.join(RESULTS)}, not {verdict!r}")
    detail, question = result["detail"], result.get("question")
    if truth is not None and not truth.strip():
        raise UsageError("the right answer is empty; leave it out if it is unknown")
    if truth is not None and not is_text(truth):
        raise UsageError("the right answer is not text: it contains NUL or half a character")
    final = result["final_answer"]
    if verdict == "success" and truth and final is not None and _contradict(truth, final, question):
        raise UsageError(
            f"success means that the decision's answer is right, which is {final!r} and not {truth!r}; use "
            "partial or failure, or leave the right answer out"
        )
    authors = dict(enumerate(detail.get("given", ())))
    # An answer that was supplied with the request counts only for the model that wrote it.
    models = {
        seat["seat"]: seat["model"]
        for n, seat in enumerate(result["seats"])
        if authors.get(n, seat["model"]) == seat["model"]
    }
    first_answers: Mapping[str, str | None] = detail.get("native") or {}
    # If a success has a `truth` in other words, the decision's words are right too, and models used those.
    gold = (final or truth) if verdict == "success" else truth
    # Results of earlier versions have their support, a share of votes, as their confidence.
    raw = detail.get("raw_confidence", result["confidence"])
    rule = detail.get("raw_rule", result.get("confidence_rule"))
    answers = [
        (models[seat], _canonical(answer, gold, question))
        for seat, answer in first_answers.items()
        if seat in models
    ]
    panel = tuple(sorted({seat["model"] for seat in result["seats"]}))
    kind = measure(result["protocol"], rule)
    return JudgedRun(kind, verdict, raw, tuple(answers), gold and normalise(gold), panel, rule)


def _contradict(one: str, two: str, question: str | None) -> bool:
    """Whether both answers cannot be right. Answers in words never contradict: they may be synonyms."""
    return not same(one, two, question) and "text" not in (read(one).kind, read(two).kind)


def measure(protocol: str, rule: str | None) -> str:
    """Return the name under which support is calibrated: the protocol, or its strongest-first variant.

    rule: the rule of its support. With strongest first, the other seats are called only if the strongest
    disagree, so their share of votes is about harder questions (design/reliability.md).
    """
    return f"{protocol}, {STRONGEST_FIRST}" if (rule or "").endswith(STRONGEST_FIRST) else protocol


def outcomes(history: Iterable[JudgedRun]) -> list[Outcome]:
    """Return the outcomes of decisions with support; partial successes are left out."""
    judged = [(run, run.raw) for run in history if run.raw is not None and run.result != "partial"]
    return [Outcome(run.protocol, raw, run.result == "success", run.panel, run.rule) for run, raw in judged]


def distinct(history: Iterable[JudgedRun]) -> list[JudgedRun]:
    """Return the judged runs that `questions` reads, oldest first: of one question, the latest only.

    A question that was asked twice says nothing twice, and must not be in both halves of a comparison.
    """
    found: dict[object, JudgedRun] = {}
    for run in history:
        if _is_fair(run):
            key = object() if run.asked is None else run.asked
            found.pop(key, None)
            found[key] = run
    return list(found.values())


def questions(history: Iterable[JudgedRun]) -> list[AnsweredQuestion]:
    """Return the models' answers to questions with a known right answer, one question per run.

    If a model has several seats, its first answer counts: the others are not further questions. Strongest-
    first votes are left out, since the weaker models answered only the harder questions there, and would
    look worse than they are.
    """
    return [AnsweredQuestion(_first_answers(run), run.gold) for run in history if _is_fair(run)]


def _is_fair(run: JudgedRun) -> bool:
    return run.gold is not None and not run.protocol.endswith(STRONGEST_FIRST)


def _first_answers(run: JudgedRun) -> dict[str, str | None]:
    answers: dict[str, str | None] = {}
    for model, answer in run.answers:
        if answers.get(model) is None:
            answers[model] = answer
    return answers


def _canonical(answer: str | None, gold: str | None, question: str | None) -> str | None:
    """Return the canonical text of the answer; that of the right answer if the two are equivalent."""
    if answer is None:
        return None
    return normalise(gold if gold is not None and same(answer, gold, question) else answer)
