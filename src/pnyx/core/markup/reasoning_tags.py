"""The tags in which models think aloud, and the tokens that end their turns, as replies contain them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..caching.regex import regex

__all__ = [
    "BARE",
    "BARE_ENDS",
    "BOXES",
    "END_TOKEN",
    "LONGEST",
    "OTHER_TURN",
    "STARTS",
    "TURN_STARTS",
    "WRAPPER",
    "Tag",
    "is_unfinished",
    "may_be_bare",
    "may_have_tags",
    "next_start",
    "plain_thought",
    "tag_at",
    "tags",
]

_NAME = (
    r"(?:[a-z]{1,12}:|longcat_|reasoning_|ant_?|inner_|internal_)?"
    r"(?:think|thinking|thoughts?|reasoning|scratchpad|monologue|chain_of_thought|cot)"
    r"(?:_(?:process|steps|fast(?:er)?|slow|never_used_[0-9a-f]{1,40}))?(?::[a-z]{1,16})?"
)
"""Names of tags as in XML; some models add a name space, as in `seed:think`, and Doubao's a number."""
_LONE_NAMES = (
    *("reason", "reasons", "analysis", "reflection", "reflections", "self_reflection", "reflect"),
    *("deliberation", "contemplation", "introspection", "brainstorm", "brainstorming", "inner_dialogue"),
)
"""Names that say thinking too, but that answers have as well: they count around what a reply begins with, if
an answer follows that is no further part of a document."""
_ATTRIBUTES = r"\s[^<>\n]{0,80}"

_PAIRS = {
    **{f"[{name}]": f"[/{name}]" for name in ("THINK", "Think", "think", "REASONING")},  # Magistral
    **{f"◁{name}▷": f"◁/{name}▷" for name in ("think", "THINK")},  # Kimi
    **{"<|channel>thought": "<channel|>", "<|channel>": "<channel|>"},  # Gemma 4
    "<unused94>thought": "<unused95>",  # MedGemma
    "<ctrl94>thought": "<ctrl95>",  # Gemini
    "[unused16]": "[unused17]",  # openPangu
    "<|inner_prefix|>": "<|inner_suffix|>",  # Apertus
    "<|START_THINKING|>": "<|END_THINKING|>",  # Command A
    "<|begin_of_thought|>": "<|end_of_thought|>",  # OpenThinker
    "<start_working_out>": "<end_working_out>",  # models that were trained by Unsloth's notebooks
    "<|think|>": "<|begin|>assistant<|content|>",  # Solar
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",  # Kimi K3
    "<|content_thinking|>": "<|content_text|>",  # Inkling
    "<|im_start|>think": "<|im_start|>answer",  # s1
}
"""Other opening tags -> their closing tags."""

# gpt-oss writes messages on channels, in a format called Harmony; the channel `final` is the answer.
_MESSAGE_STARTS = r"(?:<\|end\|>\s{0,4})?(?:<\|start\|>assistant(?: to=[\w.-]{1,128})?)?<\|channel\|>"
_MESSAGE_TEXT = r"[^<>\n]{0,80}(?:<\|constrain\|>[^<>\n]{0,20})?<\|message\|>"

# Open WebUI and what it is connected to show thoughts in a box that can be opened.
_DETAILS = r"(?P<opens_details><details\s[^<>\n]{0,80}type=[\"']?reasoning\b[^<>\n]{0,80}>)"

_TAG_FORMS = (
    rf"(?P<opens_message>{_MESSAGE_STARTS}(?:analysis|commentary){_MESSAGE_TEXT})"
    rf"|(?P<closes_message>{_MESSAGE_STARTS}final{_MESSAGE_TEXT})"
    rf"|(?i:{_DETAILS}|(?P<closes_details></details\s?>))"
    rf"|(?i:<(?P<opens>{_NAME})(?:{_ATTRIBUTES})?(?<!/)>|</(?P<closes>{_NAME})\s?>)"
    rf"|(?P<opens_other>{'|'.join(map(re.escape, _PAIRS))})"
    rf"|(?P<closes_other>{'|'.join(map(re.escape, _PAIRS.values()))})"
    r"|<\|(?:begin_of_|start_of_)?(?P<opens_bar>thinking|thoughts?|reasoning)\|>"
    r"|<\|(?:/|end_of_|end_)(?P<closes_bar>think|thinking|thoughts?|reasoning)\|>"
)
_TAG = regex(_TAG_FORMS)

_END_TOKENS = (
    *(
        "</s><s>",
        "</s>",
        "[EOS]",
        "[unused10]",
        "<turn|>",
        "[|endofturn|]",
        "[e~[",
        "<_end>",
        "<sep>",
        "<extra_id_1>",
        "</longcat_s>",
    ),
    *("<|im_start|>assistant", "<start_of_turn>", "<|start_header_id|>assistant<|end_header_id|>"),
    *("[END FINAL RESPONSE]", "[/INST]", "[gMASK]", "<pad>", "[PAD]"),
)
"""Tokens by which chat templates end a turn, or begin the next one."""
_TURN = r"(?i:<\|(?:im_start|start|start_header_id|start_of_role|turn)\|?>|<start_of_turn>|\]~b\])"
_ROLES = "user|human|system|developer|tool|ipython|environment|observation"
_OTHER_MARKS = (
    *("[INST]", "[|user|]", "[|system|]"),
    *(f"<role>{role}</role>" for role in ("HUMAN", "SYSTEM", "OBSERVATION")),  # of Ling
)
_OTHER_TURN = (
    rf"(?:{_TURN}(?i:{_ROLES})"
    rf"|(?i:<\|(?:im_|message_)?(?:{_ROLES}|prompter)(?:_token)?\|>|<｜(?:{_ROLES})｜>)"
    rf"|<\|open\|>message role=\"(?:{_ROLES})\"[^<>\n]{{0,80}}<\|sep\|>"  # Kimi K3
    rf"|<\|message_sep\|>\s{{0,4}}(?:{_ROLES})<\|role_sep\|>"  # GigaChat
    rf"|{'|'.join(map(re.escape, _OTHER_MARKS))})"
)
"""What begins a turn of somebody else in chat templates."""
OTHER_TURN = regex(
    rf"{_OTHER_TURN}(?P<is_written>\s*\n|<\|(?:end_header_id|end_of_role|message|im_sep|im_middle)\|>"
    r"|(?<=\|sep\|>)|(?<=_sep\|>)|(?:(?<=｜>)|(?<=\|\])|(?<=</role>))(?=[^\W_]))?"
)
"""is_written: whether the turn begins as templates write it, and not as the word of a sentence."""
_CUT_TOKEN = r"(?:<\|[A-Za-z]\w{2,43}\|?|<｜(?!tool)[^｜<>\s]{1,30}｜?)(?=\s*\Z)"
"""A special token without its last characters, at the end: the host stopped the reply in it."""
_END_TOKEN = (
    rf"(?:{'|'.join(map(re.escape, _END_TOKENS))}|<(?i:eo[a-z]|end_of_[a-z]{{3,12}}|seed:eos)>"
    r"|<(?:reserved_|SPECIAL_|unused)\d{1,4}>|<\[\w{1,16}_never_used_[0-9a-f]{1,40}\]>"
    r"|<\|[\w/▁-]{1,44}\|>|<｜(?!tool)[^｜<>\n]{1,30}｜>"
    rf"|{_CUT_TOKEN})"
)
"""The same, and whatever is written as special tokens are: `<|name|>`, or with the wide bars of DeepSeek and
Hunyuan. At the end of a reply it can be nothing else."""
END_TOKEN = regex(rf"{_END_TOKEN}\s*")
_SEQUENCE = regex(rf"(?:{_END_TOKEN}\s*)+")

BOXES = (
    *("<|begin_of_box|>", "<|end_of_box|>", "<|START_RESPONSE|>", "<|START_TEXT|>", "<|begin_of_solution|>"),
    *("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"),
)
"""Tokens around the final answer of GLM's models that see, of Command A, OpenThinker and Kimi K3: part of no
text."""
TURN_STARTS = (
    *("<|im_start|>assistant", "<|start_header_id|>assistant<|end_header_id|>", "<start_of_turn>model"),
    *("<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<｜Assistant｜>", "<|assistant|>", "<|im_assistant|>"),
    *("<|begin_of_text|>", "<｜begin▁of▁sentence｜>", "<bos>", "<s> ", "[/INST]", "[|assistant|]"),
    *("<|start|>assistant<|message|>", "<|message|>", "<|message_model|>", "<|begin|>assistant"),
    *('<|open|>message role="assistant"<|sep|>', "<role>ASSISTANT</role>", "<think/>", "<think />"),
)
"""Tokens by which chat templates begin the turn of the model, or say that it does not think, which a
server may leave before its text."""
_WRAPPER_NAME = r"(?:final_?)?(?:answer|response|output|solution)|final"
WRAPPER = regex(rf"(?i)<(?P<name>{_WRAPPER_NAME})>")
"""Tags in which models that were trained to think put their answer, behind their thoughts."""

_TITLES = ("think", "thought", "reasoning", "思考")
_BOX_OPENS = ("<details>", "<details open>", '<details open="">')
BARE = (
    regex(r"(?s)\s*analysis(?=[^\sa-z.,:;!?_/\-])(?P<reasoning>.+?)assistantfinal(?P<answer>.*)"),
    regex(
        r"(?s)\s*Here(?: i|')s my thought process:(?P<reasoning>.+?)Here(?: i|')s my response:(?P<answer>.*)"
    ),
    regex(
        r"(?s)\s*(?:<\|im_start\|>assistant)?/think\n(?P<reasoning>.+?)<\|im_end\|>\s*<\|im_start\|>assistant\n"
        r"(?P<answer>.*)"
    ),
    regex(r"(?s)\s*Thinking\.\.\.\n(?P<reasoning>.+?)\.\.\.done thinking\.\n(?P<answer>.*)"),
    regex(r"(?s)\s*\*Thinking\.\.\.\*\s*\n(?P<reasoning>(?:>[^\n]*\n\s*)+)(?P<answer>[^>\s].*)"),
    regex(r"(?s)\s*Here are my reasoning steps:(?P<reasoning>.+?)\[BEGIN FINAL RESPONSE\](?P<answer>.*)"),
    regex(
        rf"(?si)\s*<(?P<tag>{'|'.join(_LONE_NAMES)})>(?P<reasoning>.+?)</(?P=tag)>\s*"
        rf"(?!<(?!(?:{_WRAPPER_NAME})>)(?:[a-z]|\Z))(?P<answer>\S.*)"
    ),
    regex(
        rf"(?si)\s*<(?P<tag>details)(?: open(?:=\"\")?)?>\n?<summary>(?:{'|'.join(_TITLES)})[^<>\n]{{0,60}}"
        r"</summary>(?P<reasoning>.+?)</details>\s*(?P<answer>\S.*)"
    ),
)
"""Replies whose thoughts stand between words, or in tags that are often text: of gpt-oss whose server has
taken out the special tokens, and left the names of the channels; of Granite; of HyperCLOVA X; of Apriel; of
what prints them for people, as Ollama, Poe and gateways do."""
_BARE_STARTS = (
    *(
        "analysis",
        "Here is my thought process:",
        "Here's my thought process:",
        "Here are my reasoning steps:",
    ),
    *("Thinking...\n", "*Thinking...*", "/think\n", "<|im_start|>assistant/think\n"),
    *(f"<{name}>" for name in _LONE_NAMES),
    *(f"{box}{end}<summary>{title}" for box in _BOX_OPENS for end in ("", "\n") for title in _TITLES),
)
BARE_ENDS = (
    *(f"</{name}>" for name in _LONE_NAMES),
    *(
        "assistantfinal",
        "s my response:",
        "[BEGIN FINAL RESPONSE]",
        "...done thinking.",
        "<|im_start|>assistant\n",
        "\n\n",
    ),
)

_LITERALS = (*TURN_STARTS, *_PAIRS, *_PAIRS.values(), *_END_TOKENS, *_OTHER_MARKS, *BOXES)
_LITERAL_STARTS = frozenset(one[:length] for one in _LITERALS for length in range(1, len(one)))
STARTS = regex(r"[<\[◁](?=[^\W\d]|[/|｜]|\Z)|<(?=\[[A-Z])|\](?=~(?:b|\Z)|\Z)")
"""The first characters of all tags and tokens."""
_WHOLE = regex(
    rf"{_TAG_FORMS}|{_END_TOKEN}|{_OTHER_TURN}|(?i:</?(?:{_WRAPPER_NAME})>)"
    rf"|{'|'.join(map(re.escape, (*TURN_STARTS, *BOXES)))}"
)
_MARKS = ("<", "◁", "]~b]", *(one for one in _LITERALS if one.startswith("[")))
_MARK_STARTS = {mark[0] for mark in _MARKS}
LONGEST = 300
"""Characters; no tag is as long."""
_UNFINISHED = regex(
    rf"(?i:</?(?:[a-z:_]{{0,32}}\d{{0,4}}|[a-z]{{1,16}}_never_used_[0-9a-f]{{0,40}}|{_NAME}{_ATTRIBUTES}))"
    r"|<\[\w{0,68}\]?|<｜[^｜<>\n]{0,30}｜?"
    rf"|(?i:<details\s[^<>\n]{{0,170}})|{_TURN}[A-Za-z]{{0,10}}(?:<\|?[a-z_]{{0,16}}\|?)?|\](?:~b?)?"
    r"|(?:<\|(?:end|start|channel|constrain|open|message_sep)\|>\s{0,4}[^<>\n]{0,90})*(?:<(?:\|[\w/▁-]{0,44}\|?)?)?"
)


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag in a text. name: the same for an opening tag and its closing tag. start, end: offsets.

    follows_message: whether it contains the end of a message, so that it cannot be text.
    """

    name: str
    closes: bool
    start: int
    end: int
    follows_message: bool = False


def tag_at(text: str, place: int) -> Tag | None:
    """The tag that starts at `place`."""
    found = _TAG.match(text, place)
    return None if found is None else _tag(found)


def next_start(text: str, place: int, is_end: bool) -> int:
    """Where from `place` the next tag or token may start, or the length. is_end: no more text follows."""
    for found in STARTS.finditer(text, place):
        if not is_end or _WHOLE.match(text, found.start()):
            return found.start()
    return len(text)


def tags(text: str, place: int) -> Iterator[Tag]:
    """All tags from `place` on."""
    return map(_tag, _TAG.finditer(text, place))


def _tag(found: re.Match[str]) -> Tag:
    kind = found.lastgroup or ""
    match kind.partition("_")[2]:
        case "message":
            name = "channel"
        case "details":
            name = "details"
        case "other":
            name = _PAIRS.get(found[0], found[0])
        case "bar":
            name = f"|{found[kind]}|"
        case _:
            name = found[kind].lower()
    follows_message = found[0].startswith(("<|end|>", "<|start|>"))
    return Tag(name, kind.startswith("closes"), found.start(), found.end(), follows_message)


def may_have_tags(text: str) -> bool:
    """Whether `text` contains what every tag and every token has."""
    # Most replies have none of the characters with which they begin.
    return any(map(text.__contains__, _MARK_STARTS)) and any(mark in text for mark in _MARKS)


def is_unfinished(text: str) -> bool:
    """Whether more text may make `text` a tag or an end-of-turn token, or a longer one than it is."""
    return text in _LITERAL_STARTS or _UNFINISHED.fullmatch(text) is not None


def may_be_bare(text: str) -> bool:
    """Whether a reply that starts so may have its thoughts between words, as in `BARE`, once it is longer."""
    start = text.lstrip()[:_LONGEST_START]
    start = start.lower() if start.startswith("<") else start
    begins = start.startswith(_BARE_STARTS) or (
        len(start) < _LONGEST_START and any(one.startswith(start) for one in _BARE_STARTS)
    )
    return begins and (
        not start.startswith("analysis") or not start[8:] or bool(BARE[0].match(f"{start}assistantfinal"))
    )


_LONGEST_START = max(map(len, _BARE_STARTS)) + 1
_SUMMARY = regex(r"(?s)\s*<summary>.{0,200}?</summary>")


def plain_thought(text: str) -> str:
    """A block of reasoning without the tokens, the title and the marks of a quotation around it."""
    text = without_end_tokens(text)
    if title := _SUMMARY.match(text):
        text = text[title.end() :].strip()
    lines = text.split("\n")
    if lines[0].startswith(">") and all(line.startswith(">") or not line.strip() for line in lines):
        text = "\n".join(line.removeprefix(">").removeprefix(" ") for line in lines)
    return text.strip()


def without_end_tokens(text: str) -> str:
    """`text` without end-of-turn tokens at its end, and without white space around it."""
    for found in _SEQUENCE.finditer(text):
        if found.end() == len(text):
            return text[: found.start()].strip()
    return text.strip()
