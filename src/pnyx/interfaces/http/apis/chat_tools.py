"""Tools, choices and calls in the form of chat completions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....core.tool_calls import ANY, AUTO, NONE
from .conversation import refuse
from .tools import Call, Choice, Tool, Tools, chosen_name, custom, each, function, mode_of

__all__ = ["allowed_tools", "calls_in", "legacy_tools", "tools_of", "written"]

CHOICE, ALLOWED = "tool_choice", "allowed_tools"
KINDS = ("function", "custom")


def tools_of(
    tools: Sequence[Mapping[str, Any]] | None,
    choice: str | Mapping[str, Any] | None,
    parallel: bool | None,
) -> Tools | None:
    """The tools of a request, None without any. Raises `RefusedError`."""
    if not tools and choice in (None, AUTO, NONE):
        return None
    return Tools.of(each(tools, _read), _choice(choice), parallel)


def legacy_tools(
    functions: Sequence[Mapping[str, Any]] | None, choice: str | Mapping[str, Any] | None
) -> Tools:
    """The functions of a request in the form from before there were tools. Raises `RefusedError`."""
    found = [function(one, f"functions[{place}]") for place, one in enumerate(functions or ())]
    param = "function_call"
    if isinstance(choice, Mapping):
        wanted = Choice(ANY, (chosen_name(choice, param),))
    else:
        wanted = Choice(mode_of(choice or AUTO, param))
    return Tools.of(found, wanted, False, param)


def written(call: Call, text: str | None = None) -> dict[str, Any]:
    """A call as a message has it. text: in place of its arguments."""
    text = call.input if text is None else text
    if call.is_text:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": text}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text}}


def calls_in(
    calls: Iterable[Mapping[str, Any]] | None, legacy: Mapping[str, Any] | None
) -> list[tuple[str, object, object]]:
    """The calls in a message of the assistant: the id of each, its name and its arguments."""
    found = []
    for one in calls or ():
        what = one.get("function") or one.get("custom")
        if isinstance(what, Mapping):
            found.append(
                (str(one.get("id") or ""), what.get("name"), what.get("arguments", what.get("input")))
            )
    if legacy is not None:
        found.append(("", legacy.get("name"), legacy.get("arguments")))
    return found


def _read(document: Mapping[str, Any], param: str) -> Iterable[Tool | str]:
    match document.get("type", "function"):
        case "function":
            # Some clients leave out the object around a function.
            return [function(document.get("function", document), f"{param}.function")]
        case "custom":
            return [custom(document.get("custom"), f"{param}.custom")]
        case other:
            return [str(other)]


def _choice(choice: object) -> Choice:
    if not isinstance(choice, Mapping):
        return Choice(mode_of(choice or AUTO, CHOICE))
    kind = choice.get("type")
    if kind == ALLOWED:
        allowed = choice.get(ALLOWED, choice)
        return allowed_tools(allowed, f"{CHOICE}.{ALLOWED}")
    if kind not in KINDS:
        return Choice(ANY, (str(kind),))
    return Choice(ANY, (named(choice, CHOICE),))


def named(document: object, param: str) -> str:
    """The name of the tool in a reference to it, with or without an object around it."""
    if not isinstance(document, Mapping):
        raise refuse(param, "must be an object with a type")
    kind = document.get("type", "function")
    if kind not in KINDS:
        return str(kind)
    within = document.get(kind, document)
    return chosen_name(within if isinstance(within, Mapping) else document, f"{param}.{kind}.name")


def allowed_tools(document: object, param: str) -> Choice:
    """The choice of some tools. Raises `RefusedError`."""
    if not isinstance(document, Mapping) or not isinstance(document.get("tools"), list):
        raise refuse(param, "must be an object with a mode and a list of tools")
    mode = mode_of(document.get("mode", "auto"), f"{param}.mode")
    names = tuple(named(one, f"{param}.tools") for one in document["tools"])
    return Choice(mode, names, only=True)
