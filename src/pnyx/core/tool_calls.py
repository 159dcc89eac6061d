"""Tools as a conversation with a model sees them: what is offered, asked for, and came back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ToolCall", "ToolResult", "ToolSpec", "Turn"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool the model may call; `parameters` is a JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What the model asked of a tool. `arguments` is as the model wrote it, parsed when it was an object.

    Raises `ValueError` where they are no JSON of finite numbers: no record could hold them.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]

    def __post_init__(self) -> None:
        try:
            json.dumps(dict(self.arguments), allow_nan=False)
        except (TypeError, ValueError) as exc:
            raise ValueError(f"the arguments that {self.name} is called with are not JSON: {exc}") from exc


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave, or why it gave nothing (`ok` False); untrusted text, cut at the tool's limit."""

    text: str
    ok: bool = True


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a model that asked for tools, with what came back for each call, fenced."""

    text: str
    calls: tuple[ToolCall, ...]
    results: tuple[str, ...]
