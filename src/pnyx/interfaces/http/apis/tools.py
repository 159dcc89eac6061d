"""The client's tools in a request of any API, and the calls of them in an answer.

A panel knows one kind of tool: a function with a JSON schema. Other kinds that a client runs itself are
offered as functions (`builtin_tools.json` has those whose schema the API defines), and `form` says how the
API writes a call of them. Tools that the API's own host would run are left out, with a warning; one that
must be used is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ....core.tool_calls import ANY, AUTO, NONE
from ....run.options.client_tools import BadToolError, check_tools
from .conversation import refuse
from .grammars import REGEX, grammar_of

__all__ = [
    "Call",
    "Choice",
    "Tool",
    "Tools",
    "builtin",
    "builtin_item",
    "chosen_name",
    "custom",
    "each",
    "function",
    "mode_of",
]

FUNCTION, CUSTOM = "function", "custom"
INPUT = "input"
"""The argument of a tool that takes a text of any form."""
WARNED = 10
"""Tools that a warning names."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of a request. name: as the panel knows it. form: function, custom, or a key of the file.

    own: its name in the API, and namespace: the one that it stands in, "" for none. param: its place in the
    request, for errors.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    form: str = FUNCTION
    own: str = ""
    namespace: str = ""
    param: str = "tools"

    @property
    def definition(self) -> dict[str, Any]:
        """The tool as an entry of `RunRequest.client_tools`."""
        api = {"form": self.form, "name": self.own or self.name, "namespace": self.namespace}
        plain = self.form == FUNCTION and api["name"] == self.name and not self.namespace
        shown = {"name": self.name, "description": self.description}
        return (
            shown
            | ({} if self.parameters is None else {"parameters": self.parameters})
            | ({} if plain else {"api": api})
        )

    @classmethod
    def of(cls, definition: Mapping[str, Any]) -> Tool:
        """The tool of an entry of `RunRequest.client_tools`."""
        api = definition.get("api") or {}
        return cls(
            definition["name"],
            form=str(api.get("form", FUNCTION)),
            own=str(api.get("name", "")),
            namespace=str(api.get("namespace", "")),
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """Which call a client wants. mode: auto, none or required. names: the tools of which it is to be one.

    only: `names` are the tools that may be called; if not, the one that must be.
    """

    mode: str = AUTO
    names: tuple[str, ...] = ()
    only: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call in an answer. id: unique in the conversation."""

    id: str
    tool: Tool
    arguments: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the tool in the API."""
        return self.tool.own or self.tool.name

    @property
    def is_text(self) -> bool:
        """Whether its input is a text of any form."""
        return self.tool.form == CUSTOM

    @property
    def input(self) -> str:
        """The arguments as the API's text: JSON, or the text that a tool of kind custom gets."""
        if self.is_text:
            return str(self.arguments.get(INPUT, ""))
        return json.dumps(dict(self.arguments), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a request. choice, parallel: as in `RunRequest`. ignored: those that are left out."""

    tools: tuple[Tool, ...] = ()
    choice: str | None = None
    parallel: bool | None = None
    ignored: tuple[str, ...] = field(default=())

    @classmethod
    def of(
        cls,
        tools: Iterable[Tool | str],
        choice: Choice,
        parallel: bool | None,
        param: str = "tool_choice",
    ) -> Tools:
        """The tools of a request. tools: or the names of those that no panel can use. param: of the choice.

        Raises `RefusedError`.
        """
        every = list(tools)
        known = [one for one in every if isinstance(one, Tool)]
        ignored = tuple(dict.fromkeys(one for one in every if isinstance(one, str)))
        names, known = _chosen(choice, known, ignored, param)
        wanted = names if choice.mode in (AUTO, ANY) else choice.mode
        try:
            check_tools([one.definition for one in known], wanted)
        except BadToolError as exc:
            raise refuse(param if exc.place is None else known[exc.place].param, str(exc)) from None
        return cls(tuple(known), wanted if known else None, parallel, ignored)

    @classmethod
    def stored(cls, definitions: Iterable[Mapping[str, Any]]) -> Tools:
        """The tools of a stored run."""
        return cls(tuple(Tool.of(one) for one in definitions))

    @property
    def options(self) -> dict[str, Any]:
        """The options of a run that they are."""
        if not self.tools:
            return {}
        options = {"tool_choice": self.choice, "parallel_tool_calls": self.parallel}
        return {"client_tools": [one.definition for one in self.tools]} | {
            k: v for k, v in options.items() if v is not None
        }

    @property
    def warning(self) -> str:
        """What a client has to know of tools that are left out, in ASCII; empty if none is."""
        if not self.ignored:
            return ""
        listed = ", ".join(ascii(one)[1:-1][:40] for one in self.ignored[:WARNED])
        return f"left out: {listed}; a panel runs no tools of a host, see [tools] in pnyx's settings"

    def calls(self, run_id: str, found: Sequence[Mapping[str, Any]]) -> tuple[Call, ...]:
        """The calls of the answer of a run. found: each with name and arguments."""
        known = {one.name: one for one in self.tools}
        return tuple(
            Call(f"call_{run_id}_{n}", known.get(one["name"]) or Tool(one["name"]), one["arguments"])
            for n, one in enumerate(found)
        )


def _chosen(choice: Choice, tools: list[Tool], ignored: Sequence[str], param: str) -> tuple[str, list[Tool]]:
    """The choice as an option of a run, and the tools that may be called."""
    by_name = {name: one for one in tools for name in (one.name, one.own) if name}
    if unknown := [name for name in choice.names if name not in by_name and name not in ignored]:
        raise refuse(param, f"there is no tool {unknown[0][:60]!r} in the request")
    named = [by_name[name] for name in choice.names if name in by_name]
    if choice.mode == ANY and not (named if choice.names else tools):
        what = (
            f"{', '.join(choice.names or ignored)[:100]}: a panel cannot use such a tool"
            if ignored
            else "no tools"
        )
        raise refuse(param, f"a call is asked for, and there is none to make ({what})")
    if choice.only:
        return choice.mode, named
    return (named[0].name if named else choice.mode), tools


def function(document: object, param: str, schema: str = "parameters") -> Tool:
    """The tool of a definition with name, description and a schema. Raises `RefusedError`."""
    if not isinstance(document, Mapping):
        raise refuse(param, "must be an object with a name")
    name, description, parameters = document.get("name"), document.get("description"), document.get(schema)
    if not isinstance(name, str):
        raise refuse(f"{param}.name", "must be text")
    if not isinstance(description, str | None):
        raise refuse(f"{param}.description", "must be text")
    if not isinstance(parameters, Mapping | None):
        raise refuse(f"{param}.{schema}", "must be a JSON schema")
    return Tool(name, description or "", parameters or None, param=param)


def custom(document: object, param: str) -> Tool:
    """The tool of a definition whose input is a text of any form, or of a grammar. Raises `RefusedError`."""
    one = function(document, param)
    assert isinstance(document, Mapping), "checked above"
    grammar = grammar_of(document.get("format"), f"{param}.format")
    what = "The input of the tool as a text, in the form that the tool's description names."
    checked = {}
    if grammar is not None:
        what = f"A text that this grammar ({grammar['syntax']}) accepts:\n{grammar['definition']}"
        if grammar["syntax"] == REGEX:
            checked = {"pattern": rf"^(?:{grammar['definition']})$"}
    schema = {
        "type": "object",
        "properties": {INPUT: {"type": "string", "description": what, **checked}},
        "required": [INPUT],
        "additionalProperties": False,
    }
    return Tool(one.name, one.description, schema, form=CUSTOM, param=param)


def builtin(kind: str, param: str, name: str | None = None) -> Tool | str:
    """The tool of a kind that the API defines and the client runs; `kind` itself if a panel cannot use it."""
    found = _builtin().get(kind)
    if found is None or "parameters" not in found:
        return kind
    return Tool(name or found["name"], found["description"], found["parameters"], form=kind, param=param)


@cache
def _builtin() -> Mapping[str, Any]:
    table: Mapping[str, Any] = json.loads(Path(__file__).with_name("builtin_tools.json").read_text("utf-8"))
    return table


def builtin_item(call: Call) -> dict[str, Any] | None:
    """The item of the Responses API for a call of a tool that the API defines; None for any other call."""
    found = _builtin().get(call.tool.form)
    if found is None or "item" not in found:
        return None
    arguments = {**found["added"], **call.arguments, **found["fixed"]}
    return {"type": found["item"], found["field"]: arguments, **found.get("beside", {})}


def each(
    tools: object,
    read: Callable[[Mapping[str, Any], str], Iterable[Tool | str]],
    where: str = "tools",
) -> list[Tool | str]:
    """What `read` makes of each definition of a list. where: the list, for errors. Raises `RefusedError`."""
    if not isinstance(tools, list | None):
        raise refuse(where, "must be a list")
    found: list[Tool | str] = []
    for place, one in enumerate(tools or ()):
        param = f"{where}[{place}]"
        if not isinstance(one, Mapping):
            raise refuse(param, "must be an object with a type")
        found += read(one, param)
    return found


def chosen_name(document: Mapping[str, Any], param: str) -> str:
    """The name in a choice of one tool. Raises `RefusedError`."""
    name = document.get("name")
    if not isinstance(name, str) or not name:
        raise refuse(param, "names no tool")
    return name


def mode_of(mode: object, param: str) -> str:
    """The choice that a word of OpenAI's APIs names. Raises `RefusedError`."""
    if mode not in (AUTO, ANY, NONE):
        raise refuse(param, f"must be auto, none, required or an object, not {str(mode)[:40]!r}")
    return str(mode)
