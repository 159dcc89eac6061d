"""What is no answer before and behind one: tags that are often text, turns of the user, cut-off tokens."""

from __future__ import annotations

from pnyx.core.markup.reasoning import ReasoningSplitter, split
from pnyx.core.markup.reasoning_tags import _LONE_NAMES
from tests.support.rows import rows

TURNS = [
    "<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\nNo.",
    "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n{}",
    "<end_of_turn>\n<start_of_turn>user\n{}",
    "<turn|>\n<|turn>user\n{}",
    "</s>[INST] {} [/INST] No.",
    "<|end|><|user|>{}<|end|><|assistant|>No.",
    "<|im_end|><|im_user|>user<|im_middle|>{}",
    "<｜end▁of▁sentence｜><｜User｜>{}<｜Assistant｜>No.",
    "<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>{}",
    "<|end|><|start|>user<|message|>{}",
    "[|endofturn|]\n[|user|]{}",
    "\n<|im_start|>user\n{}",
    "\n<|user|>\n{}",
    "<|im_end|>\n<|im_start|>system\n{}",
    "<|im_end|>\n<|im_start|>tool\n{}",
    "<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n{}",
    "<|end|><|system|>{}",
    "[e~[\n]~b]user\n{}",
    '<|close|>message<|sep|><|end_of_msg|><|open|>message role="user"<|sep|>{}',
    "<|role_end|><role>HUMAN</role>{}",
    "<|message_sep|>\n\nuser<|role_sep|>\n{}",
    "<|im_end|><|im_start|>user<|im_sep|>{}",
    # Right behind the answer.
    '<|open|>message role="user"<|sep|>{}',
    "<role>HUMAN</role>{}",
    "<|im_start|>user\n{}",
    "<|start_header_id|>user<|end_header_id|>\n\n{}",
    "<start_of_turn>user\n{}",
    "]~b]user\n{}",
    "<|user|>\n{}",
    "<｜User｜>{}",
    "[|user|]{}",
]


@rows("turn", TURNS)
def test_a_turn_of_somebody_else_that_the_model_writes_is_no_part_of_the_answer(turn: str) -> None:
    turn = turn.format("Is 5?</think>")
    for before in ("", "<think>hm</think>"):
        text = f"{before}It is 4.{turn}"
        assert split(text)[1] == "It is 4.", text
        splitter = ReasoningSplitter()
        assert "".join([*map(splitter.add, text), splitter.end()]).strip() == "It is 4.", text
    assert "Is 5?" in split(f"```\nIt is 4.{turn}".replace("</think>", ""))[1]


@rows(
    "text",
    [
        "The mark <|im_start|>user opens a turn, and <|im_end|> ends it.",
        "Qwen's template:\n<|im_start|>user\nHi<|im_end|>",
        "It has <|im_start|>system first.\n<|im_end|>\n<|im_start|>user comes next.",
        "Llama 2 uses these marks.\n[INST] opens the question.\n[/INST] closes it.",
        "Qwen marks turns.\n<|im_start|>user opens one.",
        "Llama 2 wants [INST] Hi [/INST] around a question.",
        "The marks are <|user|>, <|im_start|>user and a newline, or <｜User｜> alone.",
        "DeepSeek has (<｜User｜>Hi) and Gemma <bos><start_of_turn>user\nHi",
        "MiniMax has ]~b]user and others.",
        "User: Hi.\nAssistant: Hello.",
    ],
)
def test_an_answer_may_explain_turns(text: str) -> None:
    assert split(f"{text} So.") == ("", f"{text} So.", 0)


@rows("text", ['{"vote": "A"}', "It is **4**", "It is 4 (four)", "| 4 |", "4"])
def test_a_turn_of_somebody_else_may_stand_right_behind_any_end(text: str) -> None:
    assert split(f"{text}<|im_start|>user\nIs 5?") == ("", text, 0)


@rows("token", ["<|endoftext|", "<|endofte", "<|im_en", "<|eot_id", "<｜end▁of▁sentence｜", "<｜end"])
def test_a_token_that_is_cut_off_is_stripped_at_the_end_alone(token: str) -> None:
    for text in (f"It is 4.{token}", f"It is 4.\n{token}\n", f"It is 4.<|im_end|>{token}"):
        assert split(text).answer == "It is 4.", text
        splitter = ReasoningSplitter()
        assert "".join([*map(splitter.add, text), splitter.end()]).strip() == "It is 4.", text
    assert split(f"It is {token} there.") == ("", f"It is {token} there.", 0)
    assert split("let y = f <| x").answer == "let y = f <| x"


@rows("name", _LONE_NAMES)
def test_a_tag_whose_name_says_thinking_counts_around_the_start_of_a_reply(name: str) -> None:
    for opens, closes in ((f"<{name}>", f"</{name}>"), (f"<{name.upper()}>", f"</{name.upper()}>")):
        thought = f"{opens}\n2 + 2, or 4.\n{closes}"
        for text in (
            f"{thought}\n\nIt is 4.",
            f" {thought}<answer>It is 4.</answer>",
            f"{thought}It is 4.<|end|>",
        ):
            assert split(text)[:2] == ("2 + 2, or 4.", "It is 4."), text
            splitter = ReasoningSplitter()
            assert "".join([*map(splitter.add, text), splitter.end()]).strip() == "It is 4.", text
            assert (splitter.start, splitter.result) == (0, split(text))
        for text in (
            thought,
            f"{thought}\n",
            f"{opens}It is 4.",
            f"Yes. {thought} It is 4.",
            f"`{opens}` and `{closes}` are tags.",
            f"```\n{thought}\n```\nIt is 4.",
            f"{thought}\n<verdict>4</verdict>",
        ):
            assert split(text) == ("", text, 0), text
