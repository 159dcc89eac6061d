"""The attributes of spans, by OpenTelemetry's semantic conventions for generative AI, version 1.41.

`pnyx.` marks our own. Texts are attributes only if the operator wants content.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from ..core.events import (
    Budget,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    PhaseEntered,
    RunFinished,
    SeatAbstained,
    SeatDropped,
    ToolCalled,
    VoteTallied,
)
from ..run.observer import RunIdentity
from .hosts import Host

__all__ = [
    "Attributes",
    "of_call",
    "of_end",
    "of_mark",
    "of_phase",
    "of_prompt",
    "of_reply",
    "of_reply_text",
    "of_run",
    "of_tool",
    "of_tool_text",
]

Attributes: TypeAlias = dict[str, Any]
FINISH_REASONS: Mapping[str, str] = {"filter": "content_filter", "tool": "tool_call"}
"""Our word -> that of the conventions, where they differ."""


def of_run(run: RunIdentity) -> Attributes:
    """The attributes of a run's span."""
    return _known(
        {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": run.protocol,
            "gen_ai.conversation.id": run.conversation,
            "pnyx.run.id": run.run_id,
            "pnyx.owner": run.owner,
            "pnyx.request.id": run.request_id,
        }
    )


def of_phase(event: PhaseEntered) -> Attributes:
    phase = {"pnyx.phase": event.phase, "pnyx.round": event.round, "pnyx.protocol": event.protocol}
    return _known(phase)


def of_call(run: RunIdentity, event: CallStarted, model: str, host: Host) -> Attributes:
    """The attributes that a call has from its start. model: its name at the host."""
    return _known(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": host.provider,
            "gen_ai.request.model": model,
            "gen_ai.request.max_tokens": event.max_tokens,
            "gen_ai.output.type": "json" if event.schema else None,
            "gen_ai.conversation.id": run.conversation,
            "gen_ai.prompt.name": event.prompt_id,
            "server.address": host.address,
            "server.port": host.port,
            "pnyx.run.id": run.run_id,
            "pnyx.step": event.key,
            "pnyx.seat": event.seat,
        }
    )


def of_reply(event: CallFinished) -> Attributes:
    """The attributes of a reply."""
    reason = FINISH_REASONS.get(event.finish_reason, event.finish_reason)
    return _known(
        {
            "gen_ai.response.model": event.model,
            "gen_ai.response.finish_reasons": [reason],
            "gen_ai.usage.cache_read.input_tokens": event.cached_tokens,
            "gen_ai.usage.cache_creation.input_tokens": event.cache_write_tokens,
            "gen_ai.usage.reasoning.output_tokens": event.reasoning_tokens,
            "pnyx.cost.usd": event.cost_usd,
            "pnyx.abstained": event.absent is not None or None,
        }
    )


def of_tool(run: RunIdentity, event: ToolCalled) -> Attributes:
    return _known(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.tool,
            "gen_ai.tool.type": "function",
            "pnyx.run.id": run.run_id,
            "pnyx.step": event.key,
            "pnyx.seat": event.seat,
        }
    )


def of_end(event: RunFinished) -> Attributes:
    """The attributes of the end of a run, or of its pause."""
    result = event.result
    usage = result.get("usage") or {}
    return _known(
        {
            "pnyx.status": event.status,
            "pnyx.stop_reason": result.get("stop_reason"),
            "pnyx.rounds": result.get("rounds"),
            "pnyx.degraded": result.get("degraded"),
            "pnyx.agreement": result.get("agreement"),
            "pnyx.calls": usage.get("calls"),
            "pnyx.cost.usd": usage.get("cost_usd"),
        }
    )


def of_mark(event: Event) -> tuple[str, Attributes] | None:
    """The name and the attributes of an event of a run's span; None for events that are none."""
    match event:
        case SeatDropped():
            return "pnyx.seat_dropped", _known({"pnyx.seat": event.seat, "gen_ai.request.model": event.model})
        case SeatAbstained():
            return "pnyx.seat_abstained", _known({"pnyx.seat": event.seat})
        case VoteTallied():
            return "pnyx.vote_tallied", {"pnyx.rule": event.rule, "pnyx.candidates": len(event.tally)}
        case Budget():
            amounts = {"pnyx.spent.usd": event.spent_usd, "pnyx.cap.usd": event.cap_usd}
            return "pnyx.budget", _known({"pnyx.kind": event.kind, "pnyx.scope": event.scope, **amounts})
        case CallFailed():
            retry = {"pnyx.attempt": event.attempt, "pnyx.retry_in_s": event.retry_in_s}
            return "pnyx.retry", _known({"error.type": event.kind, **retry})
    return None


def of_prompt(event: CallStarted) -> Attributes:
    """The texts of a request."""
    system = [{"type": "text", "content": event.system}] if event.system else None
    return _known(
        {
            "gen_ai.system_instructions": system and json.dumps(system),
            "gen_ai.input.messages": json.dumps([{"role": "user", "parts": _text(event.prompt)}]),
        }
    )


def of_reply_text(event: CallFinished) -> Attributes:
    """The texts of a reply."""
    reason = FINISH_REASONS.get(event.finish_reason, event.finish_reason)
    message = {"role": "assistant", "parts": _text(event.text), "finish_reason": reason}
    return {"gen_ai.output.messages": json.dumps([message])}


def of_tool_text(event: ToolCalled) -> Attributes:
    """The texts of a tool's call."""
    arguments = json.dumps(event.arguments, default=str)
    return {"gen_ai.tool.call.arguments": arguments, "gen_ai.tool.call.result": event.outcome}


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "content": text}]


def _known(attributes: Attributes) -> Attributes:
    """The attributes that have a value. A lone surrogate, which no exporter can write, is escaped."""
    return {
        name: value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None and value != ""
    }
