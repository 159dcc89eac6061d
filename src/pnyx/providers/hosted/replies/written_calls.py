"""Tool calls that a model wrote into its text, because its server does not know its form of them.

A server such as vLLM or llama.cpp needs a parser for each family of models, and without one it passes the
calls on as text. Only calls of tools that were offered are read, and none in code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ....core.caching.regex import regex
from ....core.markup.reasoning import split
from ....core.markup.reasoning_tags import plain_thought

__all__ = ["WrittenCall", "text_without", "written_calls"]

MAX_CALLS = 32
_NAME = r"[\w.-]{1,128}"

_HARMONY_TEXT = r"[^<>\n]{0,80}(?:<\|constrain\|>[^<>\n]{0,20})?<\|message\|>\s*(?=\{)"

_BEFORE_JSON = regex(
    # Hermes, Qwen, LongCat, Nemotron, Hunyuan, whose document has the name; Llama, Granite, Phi; Inkling,
    # InternLM, Command A
    r"<(?:(?:longcat_)?tool_calls?|function_call|tools?|TOOLCALL)>\s*(?=[\[{])"
    r"|<\|(?:python_tag|tool_call|content_invoke_tool_json|plugin|START_ACTION)\|>\s*(?=[\[{])"
    # Llama, functionary
    rf"|<function=(?P<equals>{_NAME})>\s*(?=\{{)"
    # Mistral, whose older models write a list
    rf"|\[TOOL_CALLS\]\s*(?P<mistral>{_NAME})(?:\[ARGS\])?\s*(?=\{{)|\[TOOL_CALLS\]\s*(?=\[)"
    # Kimi
    rf"|<\|tool_call_begin\|>\s*(?:functions\.)?(?P<kimi>{_NAME})(?::\d+)?\s*"
    r"<\|tool_call_argument_begin\|>\s*(?=\{)"
    rf"|<\|open\|>call tool=\"(?P<kimi_3>{_NAME})\"[^<>]*<\|sep\|><\|open\|>json[^<>]*<\|sep\|>\s*(?=\{{)"
    # DeepSeek
    rf"|<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?(?P<deepseek>{_NAME})"
    r"(?:<｜tool▁sep｜>)?\s*(?:```json\s*)?(?=\{)"
    # gpt-oss
    r"|(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>commentary to=(?:functions\.)?"
    rf"(?P<harmony>{_NAME}){_HARMONY_TEXT}"
    r"|(?:<\|end\|>)?<\|start\|>assistant to=(?:functions\.)?"
    rf"(?P<addressed>{_NAME})<\|channel\|>{_HARMONY_TEXT}"
)
"""What stands before the JSON of a call, or of a list of calls."""


class _Form(NamedTuple):
    """A form of calls whose arguments are fields. call: its name, its fields. field: its name, its value.

    Their ends are plain texts. What follows the last one is not searched: each opening would be sought an
    end for in all the rest.
    """

    call: re.Pattern[str]
    call_end: str
    field: re.Pattern[str]
    field_end: str


_FORMS = (
    _Form(  # Qwen Coder
        regex(rf"<function=({_NAME})>(\s*(?:<parameter=.*?)?)</function>", re.DOTALL),
        "</function>",
        regex(r"<parameter=([^<>\n]+)>\n?(.*?)\n?</parameter>", re.DOTALL),
        "</parameter>",
    ),
    _Form(  # GLM
        regex(rf"<tool_call>\s*({_NAME})\s*((?:<arg_key>.*?)?)</tool_call>", re.DOTALL),
        "</tool_call>",
        regex(r"<arg_key>([^<>]+)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL),
        "</arg_value>",
    ),
    *(
        _Form(  # MiniMax, Anthropic; DeepSeek
            regex(rf"<{mark}invoke name=\"({_NAME})\">(.*?)</{mark}invoke>", re.DOTALL),
            f"</{mark}invoke>",
            regex(rf"<{mark}parameter name=\"([^\"]+)\"[^>]*>(.*?)</{mark}parameter>", re.DOTALL),
            f"</{mark}parameter>",
        )
        for mark in ("", "｜DSML｜", "steptml:")
    ),
    _Form(  # Kimi K3
        regex(
            rf"<\|open\|>call tool=\"({_NAME})\"[^<>]*<\|sep\|>\s*((?:<\|open\|>argument.*?)?)"
            r"<\|close\|>call<\|sep\|>",
            re.DOTALL,
        ),
        "<|close|>call<|sep|>",
        regex(
            r"<\|open\|>argument key=\"([^\"]+)\"[^<>]*<\|sep\|>(.*?)<\|close\|>argument<\|sep\|>", re.DOTALL
        ),
        "<|close|>argument<|sep|>",
    ),
    _Form(  # Gemma 4
        regex(rf"<\|tool_call>call:({_NAME})(\{{.*?\}})<tool_call\|>", re.DOTALL),
        "<tool_call|>",
        regex(r"([\w.-]+):(<\|\"\|>.*?<\|\"\|>|\[[^\]]*\]|[^,{}\[\]]+)", re.DOTALL),
        "}",
    ),
    _Form(  # LFM2
        regex(rf"<\|tool_call_start\|>\[({_NAME})(\(.*?\))\]<\|tool_call_end\|>", re.DOTALL),
        "<|tool_call_end|>",
        regex(r"(\w+)=(\"[^\"]*\"|'[^']*'|\[[^\]]*\]|[^,()]+)"),
        ")",
    ),
)
_MARKS = regex(
    r"</?(?:(?:[a-z]+[:_])?tool_calls?|function_calls?|tools?|function|｜DSML｜(?:function|tool)_calls|TOOLCALL)>"
    r"|<\|/?(?:tool_calls?|python_tag|call|action_(?:start|end)|plugin|message_model|end_message)[a-z_]{0,24}\|>"
    r"|<\|(?:START|END)_ACTION\|>|<\|(?:open|close)\|>(?:tools|call|json)<\|sep\|>|(?:function)?<｜tool[▁_]sep｜>|<｜tool[▁_][^｜<>]{1,24}｜>"
)
"""What may stand around calls and between them."""
_ARGUMENTS = ("arguments", "parameters", "args")
_DECODER = json.JSONDecoder(strict=False)


class WrittenCall(NamedTuple):
    """A call, and where in the text it starts and ends."""

    name: str
    arguments: Mapping[str, Any]
    start: int
    end: int


def written_calls(text: str, names: Collection[str]) -> list[WrittenCall]:
    """The calls of tools `names` that are written in the answer of `text`."""
    start = 0 if _HARMONY.search(text) else _answer_start(text)
    calls = sorted((*_json_calls(text, names), *_field_calls(text, names)), key=lambda call: call.start)
    if start == len(text):
        return _last_calls(text, calls)[:MAX_CALLS]
    calls = [one for one in calls if one.start >= start and text.count("```", start, one.start) % 2 == 0]
    if not calls and (call := _bare_call(text, start, names)):
        return [call]
    return calls[:MAX_CALLS]


def _last_calls(text: str, calls: Sequence[WrittenCall]) -> list[WrittenCall]:
    """The calls with which `text` ends: those of GLM, Kimi and Gemma may end thoughts without a tag."""
    last, end = list[WrittenCall](), len(text)
    for call in reversed(calls):
        if plain_thought(_MARKS.sub("", text[call.end : end])):
            break
        last.insert(0, call)
        end = call.start
    return last


def text_without(text: str, calls: Sequence[WrittenCall]) -> str:
    """`text` without `calls`, and the marks around them."""
    bounds = zip([0, *(call.end for call in calls)], [*(call.start for call in calls), None], strict=True)
    rest = [_MARKS.sub("", text[start:end]) for start, end in bounds]
    return "".join(part for part in rest if part.strip("` \n")).strip()


def _answer_start(text: str) -> int:
    """Where the answer starts behind thoughts, in which a model may only consider a call."""
    answer = split(text).answer.lstrip()
    return max(text.rfind(answer), 0) if answer else len(text)


_HARMONY = regex(r"<\|channel\|>")


def _json_calls(text: str, names: Collection[str]) -> Iterator[WrittenCall]:
    for found in _BEFORE_JSON.finditer(text):
        value, end = _document(text, found.end())
        name = found[found.lastgroup] if found.lastgroup else ""
        if name:
            if name in names and isinstance(value, Mapping):
                yield WrittenCall(name, value, found.start(), end)
            continue
        for one in value if isinstance(value, list) else [value]:
            named, arguments = _named(one)
            if named in names:
                yield WrittenCall(named, arguments, found.start(), end)


def _field_calls(text: str, names: Collection[str]) -> Iterator[WrittenCall]:
    for form in _FORMS:
        for call in _closed(form.call, text, form.call_end):
            if call[1] in names:
                fields = _closed(form.field, call[2], form.field_end)
                arguments = {field[1].strip(): _argument(field) for field in fields}
                yield WrittenCall(call[1], arguments, call.start(), call.end())


def _argument(field: re.Match[str]) -> Any:
    before = field.string[field.start() : field.start(2)]
    return field[2] if any(mark in before for mark in _IS_TEXT) else _value(field[2])


_IS_TEXT = ('type="string"', 'string="true"')
"""What says that the value of a field is text, even if it is written as a number."""


def _closed(form: re.Pattern[str], text: str, end: str) -> Iterator[re.Match[str]]:
    last = text.rfind(end)
    return form.finditer(text, 0, last + len(end)) if last >= 0 else iter(())


def _bare_call(text: str, start: int, names: Collection[str]) -> WrittenCall | None:
    """The call that is all of the answer, as smaller models of Llama write it."""
    value, end = _document(text, start)
    name, arguments = _named(value)
    if (
        name not in names
        or text[end:].strip()
        or not value.keys() <= {"name", "type", "arguments", "parameters"}
    ):
        return None
    return WrittenCall(name, arguments, start, len(text))


def _named(value: Any) -> tuple[str, Mapping[str, Any]]:
    """The name and the arguments in the document of a call; "" if it is none."""
    if not isinstance(value, Mapping):
        return "", {}
    value = value["function"] if isinstance(value.get("function"), Mapping) else value
    name = value.get("name", value.get("tool_name"))
    arguments: Any = next((value[key] for key in _ARGUMENTS if key in value), {})
    if isinstance(arguments, str):
        arguments = _document(arguments, 0)[0]
    return (name, arguments) if isinstance(name, str) and isinstance(arguments, Mapping) else ("", {})


def _document(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at


def _value(text: str) -> Any:
    """The value of a field: JSON, or else text. Gemma has a token in place of quotation marks."""
    text = text.replace('<|"|>', '"')
    value, end = _document(text.strip(), 0)
    return text if value is None or end < len(text.strip()) else value
