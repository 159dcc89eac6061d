"""Reasoning and answer of a reply: which tags count, and that pieces give the same as the whole."""

from __future__ import annotations

import itertools

from hypothesis import assume, example, given
from hypothesis import strategies as st

from pnyx.core.markup.reasoning import ReasoningSplitter, split
from pnyx.core.markup.reasoning_tags import (
    _END_TOKENS,
    _PAIRS,
    TURN_STARTS,
    may_be_bare,
    tags,
)
from tests.support.rows import rows

NAMES: tuple[str, ...] = ("think", "thinking", "thought", "reasoning", "scratchpad", "seed:think", "mm:think")
NAMES += (
    "longcat_think",
    "cot",
    "chain_of_thought",
    "inner_thoughts",
    "internal_monologue",
    "thinking_process",
    "think_fast",
    "think_never_used_51bce0c785ca2f68081bfa7d91973934",
)
CHANNELS = (
    "<|channel|>analysis<|message|>",
    "<|end|><|start|>assistant<|channel|>final<|message|>",
)
PAIRS = [*((f"<{name}>", f"</{name}>") for name in NAMES), *_PAIRS.items(), CHANNELS]
ENDS = [
    *(
        *_END_TOKENS,
        "<|end|>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<|end_of_turn|>",
        "<|eot_id|>",
        "<|eom|>",
    ),
    *("<|return|>", "<|call|>", "<|EOT|>", "<|im_start|>", "<|user|>", "<|observation|>", "<|END_RESPONSE|>"),
    *(
        "<|eod|>",
        "<|eoa|>",
        "<|stop|>",
        "<|/assistant|>",
        "<|start_header_id|>",
        "<｜end▁of▁sentence｜>",
        "<｜User｜>",
    ),
    *(
        "<|end▁of▁sentence|>",
        "<eos>",
        "<eod>",
        "<EOT>",
        "<[EOS_never_used_51bce0c785ca2f68081bfa7d91973934]>",
        "<end_of_turn>",
        "<end_of_utterance>",
        "<end_of_sentence>",
    ),
    *("<seed:eos>", "<reserved_106>", "<SPECIAL_12>", "<unused6226>"),
]


@rows("opens, closes", PAIRS)
def test_every_kind_of_tag_keeps_reasoning_apart(opens: str, closes: str) -> None:
    assert split(f"{opens}Is it 4? Yes.{closes}It is 4.")[:2] == ("Is it 4? Yes.", "It is 4.")
    assert split(f"\n{opens}\nIs it 4?\n\nYes\n{closes}\n\nIt is 4.\n")[:2] == (
        "Is it 4?\n\nYes",
        "It is 4.\n",
    )
    assert split(f"{opens} hm {closes} 4")[:2] == ("hm", "4")
    assert split(f"{opens}{closes}4")[:2] == ("", "4")
    # Only the closing tag, since the prompt ended with the opening one.
    for text in (
        f"Is it 4? Yes.{closes}It is 4.",
        f"Is it 4? Yes.\n{closes}\n\nIt is 4.",
        f"hm{closes}It is 4.",
    ):
        reasoning, answer, start = split(text)
        assert (answer, text[start:].strip()) == ("It is 4.", "It is 4.")
        assert reasoning in ("Is it 4? Yes.", "hm")
    assert split(f"{closes}\n\nIt is 4.")[:2] == ("", "It is 4.")
    # Cut off before its end, or nothing but reasoning.
    assert split(f"{opens}Is it 4?\nPerhaps")[:2] == ("Is it 4?\nPerhaps", "")
    assert split(f"{opens}Is it 4?{closes}")[:2] == ("Is it 4?", "")
    assert split(f"Is it 4?{closes}\n")[:2] == ("Is it 4?", "")


@rows("opens, closes", PAIRS)
@rows(
    "explanation",
    [
        "Models open with {0} and close with {1} before they answer.",
        "The tag {1} ends what the tag {0} begins.",
        "Models write {0}their thoughts{1} first, and then the answer.",
        "Use `{0}` and `{1}`.",
        'End it with "{1}", not with "{0}".',
        "An example:\n```\n{0}\nIs it 4?\n{1}\nIt is 4.\n```\nThat is all.",
        "1. ~~~~\n{0}\n~~~\n{1}\n~~~~\nDone.",
        "Then (see {1}) it goes on.",
    ],
)
def test_an_answer_may_explain_the_tags(opens: str, closes: str, explanation: str) -> None:
    # With the end of a message before it, a channel is never text.
    closes = closes.removeprefix("<|end|><|start|>assistant")
    text = explanation.format(opens, closes)
    assert split(text) == ("", text, 0)
    assert split(f"{opens}I explain them.{closes}{text}")[:2] == ("I explain them.", text)


def test_channels_other_than_the_final_one_are_reasoning() -> None:
    text = (
        "<|start|>assistant<|channel|>analysis<|message|>Is it 4?<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.add <|constrain|>json<|message|>{}<|call|>"
        "<|start|>assistant<|channel|>final <|constrain|>json<|message|>{}<|return|>"
    )
    assert split(text)[:2] == ("Is it 4?\n\n{}", "{}")
    assert split("<|channel|>final<|message|>4<|return|>")[:2] == ("", "4")
    more = "<|channel|>final<|message|>4<|end|><|start|>assistant<|channel|>commentary<|message|>done"
    assert split(more)[:2] == ("done", "4")


@rows(
    "text, reasoning, answer",
    [
        ("<think>a</think>\n<think>b</think>\nc", "a\n\nb", "c"),
        ("First.\n<think>a</think>\nLast.", "a", "First.\n\nLast."),
        ("First.\n<think>never closed", "never closed", "First.\n"),
        ("<think>a</think>b</think>c", "a\n\nb", "c"),
        ("<think>a</think>b</think>\n", "a", "b"),
        ("<think>a</mm:think>b</think>c", "a</mm:think>b", "c"),
        ('<thinking effort="3">a</thinking>b', "a", "b"),
        ("<THINK>a</Think >b", "a", "b"),
        ("<think>It ends with `</think>`, I think.</think>Yes", "It ends with `</think>`, I think.", "Yes"),
        ("<think>a<|im_end|>", "a", ""),
        # A block that another tag closes, unless the tag is in a sentence.
        ("<think>a</thinking>\nb", "a", "b"),
        ("[THINK]a.</think>b", "a.", "b"),
        ("<think>a\n</thought>\n\nb</s>", "a", "b"),
        ("<think>What does </thinking> do, and", "What does </thinking> do, and", ""),
        # Struck out, as HTML has it.
        ("It is <s>five</s>", "", "It is <s>five</s>"),
        ("- <s>two</s>\n- <s>three</s>", "", "- <s>two</s>\n- <s>three</s>"),
        ("Not <s>five</s> but 4</s>", "", "Not <s>five</s> but 4"),
        ("It is 4.<|im_end|>\n<think>a</think>", "a", "It is 4."),
        ("<thinker>a</thinker>b", "", "<thinker>a</thinker>b"),
        ("x <analysis>a</analysis>b", "", "x <analysis>a</analysis>b"),
        # Open WebUI's box, and boxes of other things.
        (
            '<details type="reasoning" d="5">\n<summary>Thought</summary>\n> a\n> b\n</details>\nc',
            "a\nb",
            "c",
        ),
        ("<details type='reasoning'>a</details>c", "a", "c"),
        ('<details type="reasoning">never closed', "never closed", ""),
        (
            "<details>\n<summary>Proof</summary>a</details>\nc",
            "",
            "<details>\n<summary>Proof</summary>a</details>\nc",
        ),
        # Words instead of tags.
        ("analysisIs it 4?assistantfinalIt is 4.", "Is it 4?", "It is 4."),
        ("analysis2 + 2 is 4.assistantfinalIt is 4.", "2 + 2 is 4.", "It is 4."),
        ("analysis\u7528\u6237\u95ee 2 + 2\u3002assistantfinal4", "\u7528\u6237\u95ee 2 + 2\u3002", "4"),
        ("Here is my thought process:\na\n\nHere is my response:\nb", "a", "b"),
        ("Here's my thought process: a\nHere's my response: b", "a", "b"),
        ("<details><summary>Thinking</summary>a</details>\nc", "a", "c"),
        (
            "<details><summary>Thinking</summary>a</details>",
            "",
            "<details><summary>Thinking</summary>a</details>",
        ),
        ("/think\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|><|endofturn|>", "a", "b"),
        ("<|im_start|>assistant/think\na<|im_end|>\n<|im_start|>assistant\nb", "a", "b"),
        # Tags that a sentence names.
        ("<think> and </think> are tags.", "", "<think> and </think> are tags."),
        ("[THINK], [/THINK]\nor `<think>`", "", "[THINK], [/THINK]\nor `<think>`"),
        ("<think>And so on.</think>b", "And so on.", "b"),
        (
            "Here are my reasoning steps:\na\n[BEGIN FINAL RESPONSE]\nb\n[END FINAL RESPONSE]\n<|end|>",
            "a",
            "b",
        ),
        ("<Thought>a</Thought>\n<Output>\nb\n</Output>", "a", "b"),
        ("<think>a</think><Final_Answer>b</Final_Answer>", "a", "b"),
        ("<|begin_of_thinking|>a<|end_of_thinking|>b", "a", "b"),
        ("<|thinking|>a<|/thinking|>b", "a", "b"),
        ("[REASONING]a[/REASONING]b", "a", "b"),
        ("Thinking...\na\n...done thinking.\n\nb", "a", "b"),
        ("Thinking...\nIt is 4.", "", "Thinking...\nIt is 4."),
        ("b\n<|im_end|>\n<|im_start|>", "", "b"),
        ("b<｜hy_eos｜>", "", "b"),
        ("b [/INST]", "", "b"),
        ("b<reserved_106>", "", "b"),
        ("<Output>b</Output>", "", "<Output>b</Output>"),
        ("Here is my thought process: I count.", "", "Here is my thought process: I count."),
        ("analysis of it: 4", "", "analysis of it: 4"),
        ("<think>a</think><|begin_of_solution|>b<|end_of_solution|>", "a", "b"),
        ("[think]a[/think]b", "a", "b"),
        ("[Thinking] a[/Thinking] b", "", "[Thinking] a[/Thinking] b"),
        ("x < y, <b>bold</b>, [1] and <", "", "x < y, <b>bold</b>, [1] and <"),
    ],
)
def test_other_texts(text: str, reasoning: str, answer: str) -> None:
    assert split(text)[:2] == (reasoning, answer)


@rows("token", TURN_STARTS)
def test_a_token_that_begins_a_turn_is_no_part_of_the_answer(token: str) -> None:
    assert split(f"{token}\nIt is 4.")[:2] == ("", "It is 4.")
    assert split(f"<think>a</think>{token}It is 4.")[:2] == ("a", "It is 4.")
    assert split(f"It is `{token}`.")[:2] == ("", f"It is `{token}`.")


@rows("start", ["analysisIs it 4? ", "Here is my thought process: "])
def test_thoughts_between_words_are_not_streamed(start: str) -> None:
    end = {"a": "assistantfinal", "H": "Here is my response:"}[start[0]]
    splitter = ReasoningSplitter()
    shown = [splitter.add(piece) for piece in (*(start + "x" * 400), *end, *"It is 4.")]
    assert "".join(shown) == "It is 4."


@rows("token", ENDS)
def test_tokens_at_the_end_are_stripped_and_elsewhere_are_text(token: str) -> None:
    for text in (
        f"It is 4.{token}",
        f"It is 4.\n{token}\n",
        f"It is 4.{token}{token}",
        f"It is 4. {token} </s>",
    ):
        assert split(text).answer == "It is 4.", text
    assert split(f"<think>hm</think>It is 4.{token}").answer == "It is 4."
    assert split(f"<think>hm{token}")[:2] == ("hm", "")
    text = f"The token {token} ends a turn.\nAlso {token}{token} does."
    assert split(text) == ("", text, 0)


FRAGMENTS = st.sampled_from(
    [
        *("<think>", "</think>", "[THINK]", "[/THINK]", "◁think▷", "◁/think▷", "<mm:think>", "</mm:think>"),
        *("<|channel|>analysis<|message|>", "<|channel|>final<|message|>", "<|end|>", "<|start|>assistant"),
        *(
            "<|channel>thought",
            "<channel|>",
            "<|content_thinking|>",
            "<|content_text|>",
            "<|open|>think<|sep|>",
            "<|close|>think<|sep|>",
            "<|close|>response<|sep|>",
            "]~b]",
            "and",
            "</s>",
            "<|im_end|>",
            "<|endoftext|>",
            "<|endof",
            "<|im_start|>",
            "user",
            "<|user|>",
            "[INST]",
            "<analysis>",
            "</analysis>",
            "<verdict>",
            "</thinking>",
            "<s>",
            "<",
            "</",
            "<th",
            "<|",
            "[",
            "◁",
        ),
        *(
            "\n",
            "\n\n",
            " ",
            "```",
            "\n```\n",
            "`",
            '"',
            "(",
            ".",
            "Yes.",
            "no",
            "<b>",
            "x > y",
            "é",
            "~~~\n",
        ),
    ]
)
REPLIES = st.lists(FRAGMENTS, max_size=12).map("".join) | st.text(max_size=30)


@given(text=REPLIES, cuts=st.lists(st.integers(0, 80), max_size=12))
@example(text="hm</think>\n\nyes", cuts=list(range(16)))
@example(text='say "</think>" twice</think>"', cuts=list(range(40)))
def test_pieces_give_the_same_as_the_whole(text: str, cuts: list[int]) -> None:
    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    splitter = ReasoningSplitter()
    shown = "".join(splitter.add(text[a:b]) for a, b in itertools.pairwise(places))
    shown += splitter.end()
    whole = split(text)
    assert splitter.result == whole
    assert 0 <= whole.start <= len(text)
    # A closing tag without an opening one cannot take back what was shown before it.
    assert whole.answer.strip() in shown
    if not any(tag.closes for tag in tags(text, 0)):
        assert shown.strip() == whole.answer.strip()


@given(text=st.text(max_size=60))
def test_a_text_without_tags_is_unchanged_and_shown_at_once(text: str) -> None:
    text = text.translate({ord(mark): None for mark in "<[◁"})
    assume(not text or not may_be_bare(text))
    splitter = ReasoningSplitter()
    assert splitter.add(text) == text
    assert splitter.end() == ""
    assert splitter.result == split(text) == ("", text, 0)


@given(
    reasoning=st.text(alphabet='ab \n.`"', max_size=30).map(str.strip),
    answer=st.text(alphabet='ab \n.`"', max_size=30).map(str.strip),
    pair=st.sampled_from(PAIRS),
)
def test_a_block_is_never_part_of_the_answer(reasoning: str, answer: str, pair: tuple[str, str]) -> None:
    found = split(f"{pair[0]}{reasoning}\n{pair[1]}\n{answer}")
    assert found[:2] == (reasoning, answer)


def test_only_what_may_become_a_tag_is_held_back() -> None:
    splitter = ReasoningSplitter()
    assert [splitter.add(piece) for piece in ("It", " is <", "b>4</b", "> < ", "5")] == [
        *("It", " is ", "<b>4", "</b> < ", "5")
    ]
    assert splitter.add("</s>") == ""
    assert splitter.add("\n") == ""
    assert splitter.add("more") == "</s>\nmore"
    assert splitter.end() == ""


def test_the_text_behind_blocks_in_blocks_waits_for_their_closing_tags() -> None:
    text = "<think>a<think>b<think>c</think>d</think>e</think>f"
    splitter = ReasoningSplitter()
    assert "".join([*map(splitter.add, text), splitter.end()]) == "f"


def test_many_tags_in_many_pieces_give_the_same_as_the_whole() -> None:
    for unit in ("<b>x</b> ", "<", "[", "</think", "<|end|>", "<think>", "hm</think>\n", "</s>\n"):
        splitter = ReasoningSplitter()
        for _ in range(3_000):
            splitter.add(unit)
        splitter.end()
        assert split(unit * 3_000)[:2] == splitter.result[:2]
