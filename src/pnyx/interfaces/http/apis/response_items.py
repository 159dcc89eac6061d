"""The output of a response: its items, and the events that tell of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from ..streaming import ServerSentEvent
from .answer import Answer, cut
from .exchange import Delta, Step, Steps
from .tools import Call, builtin_item

__all__ = ["PREFIX", "body_of", "events", "failed_events"]

PREFIX = "resp_"
ARGUMENTS = 400
"""About how many characters of a call's arguments are sent at once."""
EMPTY = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
"""The text of a message before it is written."""
Event = Callable[..., ServerSentEvent]


def _message(run_id: str, text: str, status: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    content = [part] if status != "in_progress" else []
    return {
        "id": f"msg_{run_id}",
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": content,
    }


def _call(call: Call, status: str = "completed") -> dict[str, Any]:
    """The item of a call."""
    common = {"call_id": call.id, "status": status}
    if (found := builtin_item(call)) is not None:
        return {"id": f"item_{call.id}", **common, **found}
    space = {"namespace": call.tool.namespace} if call.tool.namespace else {}
    if call.is_text:
        named = {"type": "custom_tool_call", "name": call.name, "input": call.input}
        return {"id": f"ctc_{call.id}", **common, **named, **space}
    named = {"type": "function_call", "name": call.name, "arguments": call.input}
    return {"id": f"fc_{call.id}", **common, **named, **space}


def body_of(head: Mapping[str, Any], answer: Answer, *before: Mapping[str, Any]) -> dict[str, Any]:
    """The response with an answer. before: items that come before it."""
    is_cut = answer.finish == "length"
    status = "incomplete" if is_cut else "completed"
    has_text = answer.shown or not answer.calls
    messages = [_message(answer.result.run_id, answer.shown, status)] if has_text else []
    return {
        **head,
        "status": status,
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "output": [*before, *messages, *(_call(call) for call in answer.calls)],
        "usage": _usage(answer),
        "pnyx": answer.result.to_json(),
    }


async def events(
    steps: Steps, head: Mapping[str, Any], numbers: Iterator[int]
) -> AsyncIterator[ServerSentEvent]:
    """Steps as a reasoning item with a summary, then the answer as a message, and each call as an item.

    numbers: of the events.
    """

    def event(type: str, **fields: Any) -> ServerSentEvent:
        return ServerSentEvent(
            json.dumps({"type": type, "sequence_number": next(numbers), **fields}), event=type
        )

    started = {**head, "status": "in_progress"}
    yield event("response.created", response=started)
    yield event("response.in_progress", response=started)
    run_id = str(head["id"]).removeprefix(PREFIX)
    lines, before = list[str](), list[dict[str, Any]]()
    writing = False
    thought = {"item_id": f"rs_{run_id}", "output_index": 0, "summary_index": 0}
    async for step in steps:
        if isinstance(step, Step):
            if not lines:
                item = {"id": f"rs_{run_id}", "type": "reasoning", "summary": [], "status": "in_progress"}
                yield event("response.output_item.added", output_index=0, item=item)
                part = {"type": "summary_text", "text": ""}
                yield event("response.reasoning_summary_part.added", **thought, part=part)
            lines.append(f"{step.line}\n")
            yield event("response.reasoning_summary_text.delta", **thought, delta=lines[-1])
            continue
        if lines and not before:
            part = {"type": "summary_text", "text": "".join(lines)}
            before = [{"id": f"rs_{run_id}", "type": "reasoning", "summary": [part], "status": "completed"}]
            yield event("response.reasoning_summary_text.done", **thought, text=part["text"])
            yield event("response.reasoning_summary_part.done", **thought, part=part)
            yield event("response.output_item.done", output_index=0, item=before[0])
        written = {"item_id": f"msg_{run_id}", "output_index": len(before), "content_index": 0}
        if not writing and (isinstance(step, Delta) or not step.calls):
            writing, item = True, _message(run_id, "", "in_progress")
            yield event("response.output_item.added", output_index=len(before), item=item)
            yield event("response.content_part.added", **written, part=EMPTY)
        if isinstance(step, Delta):
            yield event("response.output_text.delta", **written, delta=step.text, logprobs=[])
            continue
        body = body_of(head, step, *before)
        calls = {_call(call)["id"]: call for call in step.calls}
        for place, item in enumerate(body["output"][len(before) :], len(before)):
            if item["type"] == "message":
                yield event("response.output_text.done", **written, text=step.shown, logprobs=[])
                yield event("response.content_part.done", **written, part=item["content"][0])
            else:
                yield event("response.output_item.added", output_index=place, item=_begun(item))
                for one in _call_events(event, place, item, calls[item["id"]]):
                    yield one
            yield event("response.output_item.done", output_index=place, item=item)
        end = "response.incomplete" if body["status"] == "incomplete" else "response.completed"
        yield event(end, response=body)


def failed_events(
    head: Mapping[str, Any], error: Mapping[str, Any], numbers: Iterator[int]
) -> list[ServerSentEvent]:
    """The last events of a stream without an answer: some clients read the one, some the other."""
    what = error["error"]
    # `type` names the event here, and not the kind of the error.
    plain = {**what, "type": "error", "sequence_number": next(numbers)}
    code = what["type"] if what["type"] in ("insufficient_quota", "rate_limit_error") else "server_error"
    response = {**head, "status": "failed", "error": {"code": code, "message": what["message"]}}
    failed = {"type": "response.failed", "sequence_number": next(numbers), "response": response}
    return [ServerSentEvent(json.dumps(one), event=str(one["type"])) for one in (plain, failed)]


def _begun(item: Mapping[str, Any]) -> dict[str, Any]:
    """The item of a call as it begins: without its text; a call in a form that has no text is whole."""
    empty = {name: "" for name in ("arguments", "input") if name in item}
    return {**item, **empty, "status": "in_progress"}


def _call_events(event: Event, place: int, item: Mapping[str, Any], call: Call) -> Iterator[ServerSentEvent]:
    if builtin_item(call) is not None:
        return
    written = {"item_id": item["id"], "output_index": place}
    kind = "custom_tool_call_input" if call.is_text else "function_call_arguments"
    for piece in cut(call.input, ARGUMENTS):
        yield event(f"response.{kind}.delta", **written, delta=piece)
    done = {"input": call.input} if call.is_text else {"arguments": call.input, "name": call.name}
    yield event(f"response.{kind}.done", **written, **done)


def _usage(answer: Answer) -> dict[str, Any]:
    """Token counts and cost of all calls together."""
    used = answer.usage
    return {
        "input_tokens": used["input_tokens"],
        "input_tokens_details": {"cached_tokens": used["cached_tokens"], "cache_write_tokens": 0},
        "output_tokens": used["output_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used["input_tokens"] + used["output_tokens"],
        "cost": used["cost_usd"],
    }
