"""Tool calls as models write them into text, where a server does not read them."""

from __future__ import annotations

import time

import pytest

from pnyx.providers.base import Call, Message, ToolSpec
from pnyx.providers.hosted.provider import open_hosted
from pnyx.providers.hosted.replies.held_text import HeldText
from pnyx.providers.hosted.replies.written_calls import text_without, written_calls
from tests.support.rows import rows
from tests.support.scripted import ScriptedHost

NAMES = {"add"}
ONE = [("add", {"x": 1})]
FORMS = [
    ("hermes", '<tool_call>\n{"name": "add", "arguments": {"x": 1}}\n</tool_call>', ""),
    ("cut off", '<tool_call>{"name": "add", "arguments": "{\\"x\\": 1}"}', ""),
    (
        "qwen coder",
        "I add.\n<tool_call>\n<function=add>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>",
        "I add.",
    ),
    ("mistral, a list", '[TOOL_CALLS][{"name": "add", "arguments": {"x": 1}}]', ""),
    ("mistral", '[TOOL_CALLS]add[ARGS]{"x": 1}', ""),
    ("llama", '<|python_tag|>{"name": "add", "parameters": {"x": 1}}<|eom_id|>', "<|eom_id|>"),
    ("llama, a function", '<function=add>{"x": 1}</function>', ""),
    ("llama, nothing else", '{"type": "function", "name": "add", "parameters": {"x": 1}}', ""),
    (
        "kimi",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>"
        '{"x": 1}<|tool_call_end|><|tool_calls_section_end|>',
        "",
    ),
    (
        "deepseek r1",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n"
        '{"x": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        "",
    ),
    (
        "deepseek v3.1",
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{"x": 1}<｜tool▁call▁end｜>'
        "<｜tool▁calls▁end｜>",
        "",
    ),
    (
        "deepseek v3.2",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="add">\n<｜DSML｜parameter name="x" string="false">1'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        "",
    ),
    (
        "glm",
        "<tool_call>add\n<arg_key>x</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
        "",
    ),
    (
        "minimax",
        '<minimax:tool_call>\n<invoke name="add">\n<parameter name="x">1</parameter>\n</invoke>\n'
        "</minimax:tool_call>",
        "",
    ),
    (
        "gpt-oss",
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=functions.add "
        '<|constrain|>json<|message|>{"x": 1}<|call|>',
        "<|channel|>analysis<|message|>a",
    ),
    (
        "gpt-oss, the tool before the channel",
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant to=functions.add<|channel|>commentary "
        '<|constrain|>json<|message|>{"x": 1}<|call|>',
        "<|channel|>analysis<|message|>a",
    ),
    (
        "deepseek v4",
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="add">\n<｜DSML｜parameter name="x" string="false">1'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        "",
    ),
    (
        "kimi k3",
        '<|open|>tools<|sep|><|open|>call tool="add" index="1"<|sep|>'
        '<|open|>argument key="x" type="number"<|sep|>1'
        "<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
        "",
    ),
    (
        "kimi k3, a document",
        '<|open|>tools<|sep|><|open|>call tool="add" index="1"<|sep|><|open|>json type="object"<|sep|>'
        '{"x": 1}<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
        "",
    ),
    (
        "inkling",
        '<|message_model|><|content_invoke_tool_json|>{"name": "add", "args": {"x": 1}}<|end_message|>',
        "",
    ),
    (
        "command a",
        '<|START_ACTION|>[\n{"tool_call_id": "0", "tool_name": "add", "parameters": {"x": 1}}\n]'
        "<|END_ACTION|>",
        "",
    ),
    ("gemma", "<|tool_call>call:add{x:1}<tool_call|>", ""),
    ("lfm", "<|tool_call_start|>[add(x=1)]<|tool_call_end|>", ""),
    ("phi, a list", '<|tool_call|>[{"name": "add", "arguments": {"x": 1}}]<|/tool_call|>', ""),
    ("nemotron", '<TOOLCALL>[{"name": "add", "arguments": {"x": 1}}]</TOOLCALL>', ""),
    ("hunyuan", '<tool_calls>[{"name": "add", "arguments": {"x": 1}}]</tool_calls>', ""),
    ("longcat", '<longcat_tool_call>{"name": "add", "arguments": {"x": 1}}</longcat_tool_call>', ""),
    ("internlm", '<|action_start|><|plugin|>{"name": "add", "parameters": {"x": 1}}<|action_end|>', ""),
    (
        "seed",
        "<seed:tool_call>\n<function=add>\n<parameter=x>1</parameter>\n</function>\n</seed:tool_call>",
        "",
    ),
    (
        "step",
        '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="add">'
        '<steptml:parameter name="x">1</steptml:parameter></steptml:invoke>'
        "<｜tool_call_end｜><｜tool_calls_end｜>",
        "",
    ),
]
ENDS_OF_THOUGHTS = [text for name, text, _ in FORMS if name in ("glm", "kimi", "kimi k3", "gemma")]
TEXTS = [
    ("code", '```\n<tool_call>\n{"name": "add", "arguments": {"x": 1}}\n</tool_call>\n```'),
    ("another tool", '<tool_call>{"name": "rm", "arguments": {}}</tool_call>'),
    ("a thought", '<think><tool_call>{"name": "add", "arguments": {}}</tool_call></think>No.'),
    ("part of a sentence", 'It sends {"name": "add", "parameters": {"x": 1}} to the host.'),
    ("another document", '{"name": "add", "vote": "A"}'),
]


@rows("name, text, rest", FORMS)
def test_a_call_of_an_offered_tool_is_read_from_text(name: str, text: str, rest: str) -> None:
    calls = written_calls(text, NAMES)
    assert [(call.name, call.arguments) for call in calls] == ONE
    assert text_without(text, calls) == rest


@rows("text", ENDS_OF_THOUGHTS)
def test_a_call_may_end_thoughts_without_a_closing_tag(text: str) -> None:
    assert [call.name for call in written_calls(f"<think>I add.{text}<|im_end|>", NAMES)] == ["add"]
    assert written_calls(f"<think>I add.{text} No.", NAMES) == []
    assert written_calls(f"<think>I add.{text}</think>", NAMES) == []
    assert [call.name for call in written_calls(f"<think>{text} No.{text}", NAMES)] == ["add"]


@rows(
    "text",
    [
        '<|open|>call tool="add" index="1"<|sep|><|open|>argument key="x" type="string"<|sep|>1'
        "<|close|>argument<|sep|><|close|>call<|sep|>",
        '<｜DSML｜invoke name="add"><｜DSML｜parameter name="x" string="true">1</｜DSML｜parameter>'
        "</｜DSML｜invoke>",
    ],
)
def test_an_argument_that_is_marked_as_text_is_text(text: str) -> None:
    assert [call.arguments for call in written_calls(text, NAMES)] == [{"x": "1"}]


@rows("name, text", TEXTS)
def test_text_about_a_call_is_text(name: str, text: str) -> None:
    assert written_calls(text, NAMES) == []


@pytest.mark.parametrize(
    "text",
    [FORMS[0][1], *(text for name, text, _ in FORMS if "gpt-oss" in name)],
    ids=["hermes", "gpt-oss", "to"],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_host_that_passes_calls_on_as_text_is_read_like_one_that_reads_them(
    lab: ScriptedHost, text: str, stream: bool
) -> None:
    lab.on("alpha", text=text)
    shown: list[str] = []
    provider = open_hosted("openai", base_url=lab.openai, api_key="k")
    tool = ToolSpec("add", "Adds.", {"type": "object", "properties": {}})
    try:
        reply = await provider.complete(
            Call("alpha", (Message("user", "Add."),), max_tokens=100, tools=(tool,)),
            shown.append if stream else None,
        )
    finally:
        await provider.close()
    assert [(call.name, call.arguments) for call in reply.tool_calls] == ONE
    assert reply.finish_reason == "tool"
    assert "add" not in reply.text + "".join(shown)


@pytest.mark.parametrize(
    "opening", ["<tool_call>read<arg_key>", "<function=read><parameter=a>", '<invoke name="read">']
)
@pytest.mark.parametrize("end", ["", "</tool_call></function></invoke>"])
def test_calls_that_never_end_are_searched_once(opening: str, end: str) -> None:
    text = opening * 5_000 + end
    start = time.process_time()
    written_calls(text, {"read"})
    assert time.process_time() - start < 1.0


def streamed(text: str, size: int) -> tuple[str, str]:
    """What a client sees before the reply has ended, and after it."""
    shown: list[str] = []
    held = HeldText(NAMES, shown.append)
    for at in range(0, len(text), size):
        held.add(text[at : at + size])
    before = "".join(shown)
    calls = written_calls(text, NAMES)
    held.end(text_without(text, calls) if calls else text)
    return before, "".join(shown)


@rows("name, text, rest", FORMS)
def test_no_part_of_a_call_is_streamed(name: str, text: str, rest: str) -> None:
    for size in (1, 3, 1000):
        assert streamed(text, size)[1].strip() == rest
        looked = f"I look.\n{text}"
        whole = text_without(looked, calls) if (calls := written_calls(looked, NAMES)) else looked
        before, after = streamed(looked, size)
        assert before.startswith("I look.\n")
        assert after.strip() == whole


STREAMED = [
    "The tag <tool_call> opens a call, [TOOL_CALLS] too, and <function=x> as well. Done here, all of it.",
    "a < b, <b>bold</b>, [1, 2], {x} and no call at all in all of this text",
    '{"answer": 4, "name": "add", "text": "a document that starts with no key of a call"}',
    "<think>I may write <tool_call>{}</tool_call>.</think>No, I answer at once and in full.",
    "```\n<tool_call>\n{}\n```\nThat is how a call looks in the form of Hermes.",
    "<tools>hammer</tools>, and nails that are no tools of mine",
]


@rows("text", [*STREAMED, *(text for _, text in TEXTS)])
def test_text_that_is_no_call_is_streamed_whole(text: str) -> None:
    for size in (1, 3, 1000):
        before, after = streamed(text, size)
        assert after == text
        assert text not in STREAMED or len(before) >= len(text) - 8


def test_a_long_text_is_read_once() -> None:
    start = time.process_time()
    streamed("<tool_call>" + "x" * 40_000, 4)
    streamed("a {} < [ " * 8_000, 4)
    assert time.process_time() - start < 2.0
