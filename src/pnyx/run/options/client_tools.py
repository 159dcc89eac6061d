"""Tools that the asker runs: their definitions in a request, and which calls can be carried out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ...core.caching.regex import regex
from ...core.tool_calls import ANY, AUTO, NONE, ToolCall, ToolOffer, ToolSpec
from .answer_schema import MOST_CHARS, check_schema, violation

__all__ = ["MOST", "BadToolError", "call_problem", "check_tools", "offer_of"]

MOST = 1000
"""Tools of one request."""
EMPTY: Mapping[str, Any] = {"type": "object", "properties": {}}
"""The schema of a tool without arguments."""
KEYS = frozenset(("name", "description", "parameters", "api"))
"""`api` says how an API that the tool came by writes a call of it, and is for that API alone."""
_NAME = regex(r"[\w.:/-]{1,128}")


class BadToolError(ValueError):
    """What is wrong with the tools of a request. place: of the tool, from 0; None if it is the choice."""

    def __init__(self, message: str, place: int | None = None) -> None:
        super().__init__(message)
        self.place = place


def check_tools(tools: Sequence[Mapping[str, Any]], choice: str | None) -> None:
    """Raise `BadToolError` unless each tool has its own name and a valid schema, and `choice` fits them."""
    names = set[str]()
    for place, one in enumerate(tools):
        if problem := _flaw(one, names):
            raise BadToolError(problem, place)
        names.add(one["name"])
    if len(tools) > MOST:
        raise BadToolError(f"there may be at most {MOST} tools")
    if choice in (None, AUTO, NONE):
        return
    if not names:
        raise BadToolError(f"{choice} needs tools, and there are none")
    if choice != ANY and choice not in names:
        raise BadToolError(
            f"must be {AUTO}, {NONE}, {ANY} or the name of one of the tools, not {str(choice)[:60]!r}"
        )


def offer_of(
    tools: Sequence[Mapping[str, Any]], choice: str | None, parallel: bool | None
) -> ToolOffer | None:
    """The tools as seats are offered them; None if there are none, or the asker wants a text."""
    if not tools or choice == NONE:
        return None
    specs = [
        ToolSpec(one["name"], one.get("description") or "", one.get("parameters") or EMPTY) for one in tools
    ]
    return ToolOffer(tuple(specs), choice or AUTO, parallel is not False)


def call_problem(calls: Sequence[ToolCall], offer: ToolOffer) -> str | None:
    """Why the calls of an answer cannot be carried out as the asker wants them, or None."""
    if not calls:
        return "the answer must be a call, and it is a text"
    if len(calls) > 1 and not offer.parallel:
        return f"it holds {len(calls)} calls, and one is allowed"
    schemas = {one.name: one.parameters for one in offer.tools}
    for call in calls:
        if call.name not in schemas:
            return f"there is no tool {call.name[:80]!r}; there are: {', '.join(schemas)[:2000]}"
        if offer.choice not in (AUTO, ANY, call.name):
            return f"it calls {call.name}, and the tool to call is {offer.choice}"
        if (wrong := violation(dict(call.arguments), schemas[call.name])) is not None:
            return f"the arguments of {call.name} do not satisfy its schema: {wrong}"
    return None


def _flaw(tool: Mapping[str, Any], names: set[str]) -> str | None:
    """What is wrong with the definition of a tool, or None. names: those of the tools before it."""
    if unknown := sorted(tool.keys() - KEYS):
        return f"a tool has no field {str(unknown[0])[:40]!r}; it has: {', '.join(sorted(KEYS))}"
    name, description, parameters = tool.get("name"), tool.get("description"), tool.get("parameters")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in (AUTO, ANY, NONE):
        return f"a tool needs a name of 1 to 128 letters, digits or any of _.:/-, not {str(name)[:40]!r}"
    if name in names:
        return f"two tools have the name {name}"
    if not isinstance(description, str | None):
        return f"the description of the tool {name} must be text"
    if len(description or "") > MOST_CHARS:
        return f"the description of the tool {name} must have at most {MOST_CHARS} characters"
    if not isinstance(tool.get("api"), Mapping | None):
        return f"the api of the tool {name} must be an object"
    if not isinstance(parameters, Mapping | None):
        return f"the parameters of the tool {name} must be a JSON schema"
    problem = _schema_flaw(parameters or EMPTY)
    return None if problem is None else f"the tool {name}: {problem}"


def _schema_flaw(schema: Mapping[str, Any]) -> str | None:
    try:
        return _flaw_of(json.dumps(schema))
    except (TypeError, ValueError, RecursionError) as exc:
        return f"its schema is not JSON: {exc}"


@lru_cache(maxsize=1024)  # an agent sends the same tools with every step, and 24 of them take 50 ms
def _flaw_of(schema: str) -> str | None:
    problem = check_schema(json.loads(schema))
    return None if problem is None else problem.replace("the schema of an answer", "its schema")
