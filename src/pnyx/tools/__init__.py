"""Tools that seats may call in a phase. Each takes JSON arguments and returns text, cut at a limit.

Tools only read, so a call that a crash interrupted is repeated on resume.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..core.tool_calls import ToolResult, ToolSpec
from ..isolation import OwnCancellationError, describe, isolate

__all__ = ["Tool", "ToolError", "Toolbox"]


class ToolError(Exception):
    """The tool cannot do its job; the message is written for the model that called it."""


class Tool(Protocol):
    """One tool. `run` returns text or raises `ToolError`, and ends in bounded time by itself."""

    spec: ToolSpec

    async def run(self, arguments: Mapping[str, Any]) -> str: ...


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of a run by name. limit: characters of a result that are kept."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    limit: int = 16_000

    def only(self, names: Iterable[str]) -> Toolbox:
        """Return a toolbox with those of its tools that are in `names`."""
        return Toolbox({name: self.tools[name] for name in names if name in self.tools}, self.limit)

    def specs(self, names: Iterable[str]) -> tuple[ToolSpec, ...]:
        """Return the descriptions that models receive, for the tools called `names`."""
        return tuple(self.tools[name].spec for name in names)

    async def run(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool and return its result; an unknown tool or a failure is an error result, never raised."""
        if name not in self.tools:
            return ToolResult(
                f"there is no tool {name!r}; available: {', '.join(self.tools) or 'none'}", False
            )
        try:
            text = await isolate(lambda: self.tools[name].run(arguments))
        except ToolError as exc:
            return ToolResult(str(exc), False)
        except OwnCancellationError:
            return ToolResult("the tool cancelled itself", False)
        except Exception as exc:
            return ToolResult(f"the tool failed with {describe(exc)}", False)
        if not isinstance(text, str):
            return ToolResult(f"the tool returned {type(text).__name__}, not text", False)
        if len(text) > self.limit:
            text = f"{text[: self.limit]}\n[cut here: {len(text) - self.limit} more characters]"
        return ToolResult(text)
