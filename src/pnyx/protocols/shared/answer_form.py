"""Answers in the form of a JSON schema: after the protocol, the strongest seat puts the answer into it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ...core.models import strongest
from ...core.parsing.form import Form
from ...core.parsing.json_objects import read_object, read_structured
from ...core.parsing.verdicts import Unreadable
from ...core.protocol import ExpectedCalls, Protocol, Scope
from ...core.steps import Brief, Decision, Panel, Schema
from ...core.text import Material
from ...errors import NotInForm, SeatAbsent
from ...prompts import load
from .verdict import ask_verdict

__all__ = ["NAME", "Violation", "with_form"]

FILL = load("form/fill")
NAME = "answer"
Violation: TypeAlias = "Callable[[object], str | None]"
"""How a value violates a schema, or None."""
TOKENS = 300
"""Tokens of such an object that are expected."""
SEATS = 2
"""Seats that try, each with one repair, before the run fails."""


def with_form(protocol: Protocol, document: Mapping[str, Any], violation: Violation) -> Protocol:
    """Return `protocol` with its answer as an object of the schema, as JSON; `detail.prose` has what it was.

    violation: how an object violates the schema. The script raises `NotInForm` if no seat writes a valid one.
    """
    script, calls, expected = protocol.script, protocol.calls, protocol.expected
    schema = Schema.of(NAME, document)

    def bounds(scope: Scope) -> tuple[int, int]:
        least, most = calls(scope) if calls else (0, 0)
        return least, most + 2 * SEATS

    def usual(scope: Scope) -> Sequence[ExpectedCalls]:
        return [*(expected(scope) if expected else ()), ExpectedCalls(1, TOKENS, 1, "strongest")]

    async def fill(brief: Brief, panel: Panel) -> Decision:
        decision = await script(brief, panel)
        # An object within a text may be an example, and is not the answer.
        value, source = read_structured(decision.answer, schema)
        by: str | None = None
        if source == "prose" or value is None or violation(value) is not None:
            by, value = await _filled(panel, decision, schema, violation)
        answer = json.dumps(value, ensure_ascii=False)
        detail = {**decision.detail, "prose": decision.answer, "filled_by": by}
        return replace(decision, answer=answer, detail=detail)

    return replace(
        protocol,
        script=fill,
        calls=bounds if calls is not None else None,
        expected=usual if expected is not None else None,
    )


async def _filled(
    panel: Panel, decision: Decision, schema: Schema, violation: Violation
) -> tuple[str, dict[str, Any]]:
    def read(text: str) -> dict[str, Any]:
        value = read_object(text)
        if value is None:
            raise Unreadable("it holds no JSON object")
        if (problem := violation(value)) is not None:
            raise Unreadable(f"the object does not satisfy the schema: {problem}")
        return value

    form = Form(schema, None, read)
    shown = json.dumps(schema.document, ensure_ascii=False, indent=1)
    draft = FILL(schema=shown, answer=Material("The panel's answer", decision.answer))
    problem = "no seat is left"
    for seat in strongest(panel.seats)[:SEATS]:
        try:
            verdict = await ask_verdict(panel, seat, draft, form)
        except SeatAbsent as exc:
            problem = str(exc)
        else:
            return verdict.seat.label, verdict.value
    raise NotInForm(f"the answer could not be written in the form that was asked for: {problem}")
