"""Tools in a conversation with a model: their definitions, calls and results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ANY", "AUTO", "NONE", "ToolCall", "ToolOffer", "ToolResult", "ToolSpec", "Turn"]

AUTO = "auto"
ANY, NONE = "required", "none"
"""Choices of the asker: a call or a text, a call, a text; any other one names the tool to call."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the model may call. parameters: the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """The tools that the asker runs, which the panel may answer with calls of. choice: `AUTO`, `ANY` or a
    name.

    parallel: whether one answer may have several calls.
    """

    tools: tuple[ToolSpec, ...]
    choice: str = AUTO
    parallel: bool = True


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of a tool. arguments: the JSON object that the model wrote, parsed.

    Raises `ValueError` if the arguments are not JSON with finite numbers, since the journal could not store
    them.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]

    def __post_init__(self) -> None:
        try:
            json.dumps(dict(self.arguments), allow_nan=False)
        except (TypeError, ValueError) as exc:
            raise ValueError(f"the arguments of the call to {self.name} are not JSON: {exc}") from exc


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's result, or its error (`ok` is False). text: untrusted, cut at the tool's limit."""

    text: str
    ok: bool = True


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a model with tool calls. results: one fenced text for each call.

    thoughts: what it thought before the calls, which some hosts want back with the results.
    """

    text: str
    calls: tuple[ToolCall, ...]
    results: tuple[str, ...]
    thoughts: str = ""
