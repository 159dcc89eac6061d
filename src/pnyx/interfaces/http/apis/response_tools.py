"""Tools and choices in the form of the Responses API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ....core.tool_calls import ANY, AUTO, NONE
from .chat_tools import allowed_tools
from .tools import Choice, Tool, Tools, builtin, chosen_name, custom, each, function, mode_of

__all__ = ["tools_of"]


ADDING = ("additional_tools", "tool_search_output")
"""Items of a conversation that bring further tools."""


def tools_of(
    tools: Sequence[Mapping[str, Any]] | None,
    items: Sequence[Mapping[str, Any]],
    choice: str | Mapping[str, Any] | None,
    parallel: bool | None,
) -> Tools | None:
    """The tools of a request and of the items of its conversation, None without any.

    Raises `RefusedError`.
    """
    found = each(tools, _read)
    known = {one.name for one in found if isinstance(one, Tool)}
    for place, item in enumerate(items):
        if item.get("type") in ADDING:
            for one in each(item.get("tools"), _read, f"input[{place}].tools"):
                # Items repeat tools that a later request still needs.
                if not isinstance(one, Tool) or one.name not in known:
                    found.append(one)
                    known |= {one.name} if isinstance(one, Tool) else set()
    if not found and choice in (None, AUTO, NONE):
        return None
    return Tools.of(found, _choice(choice), parallel)


def _read(document: Mapping[str, Any], param: str) -> Iterable[Tool | str]:
    match document.get("type"):
        case "function":
            yield function(document, param)
        case "custom":
            yield custom(document, param)
        case "namespace":
            name = chosen_name(document, f"{param}.name")
            for one in each(document.get("tools"), _read, f"{param}.tools"):
                if isinstance(one, Tool):
                    one = replace(one, name=f"{name}.{one.name}", own=one.name, namespace=name, param=param)
                yield one
        case "shell" if (document.get("environment") or {}).get("type", "local") != "local":
            yield "shell"
        case "tool_search" if document.get("execution") == "client":
            yield replace(function({"name": "tool_search", **document}, param), form="tool_search")
        case other:
            yield builtin(str(other), param)


def _choice(choice: object) -> Choice:
    if not isinstance(choice, Mapping):
        return Choice(mode_of(choice or AUTO, "tool_choice"))
    kind = choice.get("type")
    if kind == "allowed_tools":
        return allowed_tools(choice, "tool_choice")
    named = kind in ("function", "custom")
    return Choice(ANY, (chosen_name(choice, "tool_choice.name") if named else str(kind),))
