"""Answers that call the asker's tools: what seats read of the tools, and the calls of a decision.

Protocols know nothing of it. A call is an answer as `core.answers.code.calls` reads it, so they propose,
compare and decide on calls as on any other answer; what is left is done here, after the protocol: the calls
are checked, and the strongest seat corrects them once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ...core.answers.code.calls import is_attempt, read_proposal, short_calls, written_calls
from ...core.parsing.form import Form
from ...core.parsing.verdicts import Unreadable
from ...core.protocol import Protocol
from ...core.steps import Brief, Decision, Panel
from ...core.text import Material
from ...core.tool_calls import AUTO, ToolCall, ToolOffer
from ...errors import NotInForm
from ...prompts import load
from .closing import ask_strongest, closed
from .poll import TEXT
from .transcript import Transcript

__all__ = ["CALLS", "CallProblem", "calls_of", "with_calls"]

SYSTEM, CALL = load("form/call-system"), load("form/call")
CALLS = "tool_calls"
"""The field of `Decision.detail` with the calls, each with its name and arguments."""
CallProblem: TypeAlias = "Callable[[Sequence[ToolCall]], str | None]"
"""Why calls cannot be carried out, or None."""
TOKENS = 200
"""Tokens of a call that are expected."""


def calls_of(decision: Decision) -> Sequence[Mapping[str, Any]]:
    """The calls of a decision, each with its name and arguments; none if the answer is a text."""
    found: Sequence[Mapping[str, Any]] = decision.detail.get(CALLS, ())
    return found


def with_calls(protocol: Protocol, offer: ToolOffer, problem_of: CallProblem) -> Protocol:
    """Return `protocol` with calls of the offered tools as answers.

    Such an answer is `{"tool_calls": …}`; `detail.tool_calls` has its calls, `detail.prose` the text before
    them. Every call is valid. If one is needed and no seat writes a valid one, the script raises
    `NotInForm`; if not, the answer stays the text that it was.
    """

    async def call(brief: Brief, panel: Panel, decision: Decision) -> Decision:
        proposal = read_proposal(decision.answer)
        calls, prose = (proposal.calls, proposal.prose) if proposal else ((), "")
        problem = problem_of(calls) if calls or offer.choice != AUTO else _unreadable(decision.answer)
        by: str | None = None
        if problem is not None:
            try:
                by, calls = await _corrected(brief, panel, decision, problem, problem_of)
            except NotInForm:
                if offer.choice != AUTO:
                    raise
                calls = ()
        if not calls:
            short = decision.final_answer
            return replace(
                decision, final_answer=None if short == TEXT or short_calls(short or "") else short
            )
        answer = written_calls(calls)
        listed = [{"name": one.name, "arguments": dict(one.arguments)} for one in calls]
        detail = {**decision.detail, CALLS: listed, "prose": prose, "corrected_by": by}
        return replace(decision, answer=answer, final_answer=short_calls(answer), detail=detail)

    return closed(protocol, call, TOKENS)


def _unreadable(answer: str) -> str | None:
    return "it looks like a call, but is not valid JSON in the form of one" if is_attempt(answer) else None


async def _corrected(
    brief: Brief, panel: Panel, decision: Decision, problem: str, problem_of: CallProblem
) -> tuple[str, tuple[ToolCall, ...]]:
    def read(text: str) -> tuple[ToolCall, ...]:
        proposal = read_proposal(text)
        if proposal is None:
            raise Unreadable("it holds no call in the form of one")
        if (wrong := problem_of(proposal.calls)) is not None:
            raise Unreadable(wrong)
        return proposal.calls

    task = CALL(answer=Material("The panel's answer", decision.answer), problem=problem)
    draft = Transcript(brief, panel, SYSTEM).opening(task)
    return await ask_strongest(panel, draft, Form(None, None, read))
