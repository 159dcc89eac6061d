"""Answers in the form of a JSON schema: after the protocol, the strongest seat puts the answer into it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core.models import strongest
from ...core.parsing.form import Form
from ...core.parsing.json_objects import read_object
from ...core.parsing.verdicts import Unreadable
from ...core.protocol import ExpectedCalls, Protocol, Scope
from ...core.steps import Brief, Decision, Panel, Schema
from ...core.text import Material
from ...errors import NotInForm, SeatAbsent
from ...prompts import load
from .verdict import ask_verdict

__all__ = ["NAME", "check_schema", "violation", "with_form"]

FILL = load("form/fill")
NAME = "answer"
MOST_CHARS = 100_000
TOKENS = 300
"""Tokens of such an object that are expected."""
SEATS = 2
"""Seats that try, each with one repair, before the run fails."""


def check_schema(document: Mapping[str, Any]) -> str | None:
    """What is wrong with a JSON schema for answers, or None."""
    from jsonschema import SchemaError

    if document.get("type", "object") != "object":
        return "the schema of an answer must be that of an object"
    if len(json.dumps(document)) > MOST_CHARS:
        return f"the schema of an answer must have at most {MOST_CHARS} characters"
    try:
        _validator(document).check_schema(document)
    except SchemaError as exc:
        return f"the schema of an answer is invalid: {exc.message[:300]}"
    return None


def violation(value: object, document: Mapping[str, Any]) -> str | None:
    """How `value` violates a valid JSON schema, or None.

    Patterns are not checked: a hostile one would take for ever. References to other documents do not resolve,
    and count as a violation.
    """
    from jsonschema.exceptions import best_match
    from referencing.exceptions import Unresolvable

    try:
        error = best_match(_validator(document).iter_errors(value))
    except Unresolvable as exc:
        return f"the schema refers to what it does not hold: {exc}"
    except RecursionError:
        return "the schema or the object is too deep"
    if error is None:
        return None
    where = "/".join(map(str, error.absolute_path))
    return f"{where or 'the object'}: {error.message[:300]}"


def _validator(document: Mapping[str, Any]) -> Any:
    # Start-up time: few runs have a schema.
    from jsonschema.validators import Draft202012Validator, extend, validator_for
    from referencing import Registry

    kind = extend(
        validator_for(document, Draft202012Validator), {"pattern": _ignore, "patternProperties": _ignore}
    )
    return kind(document, registry=Registry())


def _ignore(*_: object) -> None:
    return None


def with_form(protocol: Protocol, document: Mapping[str, Any]) -> Protocol:
    """Return `protocol` with its answer as an object of the schema, as JSON; `detail.prose` has what it was.

    Its script raises `NotInForm` if no seat can write such an object.
    """
    script, calls, expected = protocol.script, protocol.calls, protocol.expected

    def bounds(scope: Scope) -> tuple[int, int]:
        least, most = calls(scope) if calls else (0, 0)
        return least, most + 2 * SEATS

    def usual(scope: Scope) -> Sequence[ExpectedCalls]:
        return [*(expected(scope) if expected else ()), ExpectedCalls(1, TOKENS, 1, "strongest")]

    async def fill(brief: Brief, panel: Panel) -> Decision:
        decision = await script(brief, panel)
        value = read_object(decision.answer)
        by: str | None = None
        if value is None or violation(value, document) is not None:
            by, value = await _filled(panel, decision, document)
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
    panel: Panel, decision: Decision, document: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    def read(text: str) -> dict[str, Any]:
        value = read_object(text)
        if value is None:
            raise Unreadable("it holds no JSON object")
        if (problem := violation(value, document)) is not None:
            raise Unreadable(f"the object does not satisfy the schema: {problem}")
        return value

    form = Form(Schema.of(NAME, document), None, read)
    shown = json.dumps(document, ensure_ascii=False, indent=1)
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
