"""Answers in the form of a JSON schema: after the protocol, the strongest seat puts the answer into it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from ...core.parsing.form import Form
from ...core.parsing.json_objects import read_object, read_structured
from ...core.parsing.verdicts import Unreadable
from ...core.protocol import Protocol
from ...core.steps import Brief, Decision, Panel, Schema
from ...core.text import Material
from ...prompts import load
from .call_form import calls_of
from .closing import ask_strongest, closed

__all__ = ["NAME", "Violation", "with_form"]

FILL = load("form/fill")
LANGUAGE, OTHER_LANGUAGE = load("form/fill-language"), load("form/fill-language-option")
NAME = "answer"
Violation: TypeAlias = "Callable[[object], str | None]"
"""How a value violates a schema, or None."""
TOKENS = 300
"""Tokens of such an object that are expected."""


def with_form(protocol: Protocol, document: Mapping[str, Any], violation: Violation) -> Protocol:
    """Return `protocol` with its answer as an object of the schema, as JSON; `detail.prose` has what it was.

    A call of tools stays as it is. violation: how an object violates the schema. The script raises
    `NotInForm` if no seat writes a valid one.
    """
    schema = Schema.of(NAME, document)

    async def fill(_: Brief, panel: Panel, decision: Decision) -> Decision:
        if calls_of(decision):
            return decision
        # An object within a text may be an example, and is not the answer.
        value, source = read_structured(decision.answer, schema)
        by: str | None = None
        if source == "prose" or value is None or violation(value) is not None:
            by, value = await _filled(panel, decision, schema, violation)
        answer = json.dumps(value, ensure_ascii=False)
        detail = {**decision.detail, "prose": decision.answer, "filled_by": by}
        return replace(decision, answer=answer, detail=detail)

    return closed(protocol, fill, TOKENS)


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

    shown = json.dumps(schema.document, ensure_ascii=False, indent=1)
    language = LANGUAGE() if panel.language is None else OTHER_LANGUAGE(language=panel.language)
    answer = Material("The panel's answer", decision.answer)
    draft = FILL(schema=shown, answer=answer, language=language)
    return await ask_strongest(panel, draft, Form(schema, None, read))
