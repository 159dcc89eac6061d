"""Names that would identify the author of a text are masked, and nothing else is."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pnyx.core.anonymity.mask import mask
from tests.support.properties import examples
from tests.support.rows import rows

PANEL = (
    "openai:gpt-4o",
    "anthropic:claude-sonnet-4-5-20250929",
    "lab:alpha",
    "openrouter:meta-llama/Llama-3.1-70b:free",
    "local:/srv/weights/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
)

SELF_NAMINGS = {
    "As GPT-5, I think so.": "As this participant, I think so.",
    "I'm Claude, made by Anthropic.": "I'm this participant, made by this participant.",
    "I\u2019m **Claude**, an AI assistant made by **Anthropic**.": (
        "I\u2019m **this participant**, an AI assistant made by **this participant**."
    ),
    "Speaking as an OpenAI model, no.": "Speaking as this participant, no.",
    "As a large language model trained by Google, I cannot say.": (
        "As a large language model trained by this participant, I cannot say."
    ),
    "As Gemini, I hold that.": "As this participant, I hold that.",
    "I am Grok, built by xAI.": "I am this participant, built by this participant.",
    "I was trained by Google DeepMind.": "I was trained by this participant.",
    "I, Gemini, disagree.": "I, this participant, disagree.",
    "My name is Bard.": "My name is this participant.",
    "My creators at DeepSeek say so.": "My creators at this participant say so.",
    "Mistral AI trained me to say no.": "This participant trained me to say no.",
    "ChatGPT here: no.": "This participant here: no.",
    "Kimi: I disagree.": "This participant: I disagree.",
    "No.\n\n\u2014 Gemini": "No.\n\n\u2014 this participant",
    "我是Gemini。": "我是this participant。",
    "Being Claude, I disagree.": "Being this participant, I disagree.",
    "This is Gemini speaking.": "This is this participant speaking.",
    "[Claude] I disagree.": "[This participant] I disagree.",
    "My knowledge as GPT-4 ends there.": "My knowledge as this participant ends there.",
    "We at OpenAI disagree.": "We at this participant disagree.",
    "Anthropic's guidelines do not allow me to say.": "This participant's guidelines do not allow me to say.",
    "I'm alpha from the lab.": "I'm this participant from this participant.",
}

MENTIONS = {
    "gpt-4o is wrong.": "A participant is wrong.",
    "I trust GPT 4o, gpt4o and GPT\u20114o-mini.": (
        "I trust a participant, a participant and a participant."
    ),
    "What the GPT-5 model says": "What a participant says",
    "see openai:gpt-4o": "see a participant",
    "OpenAI's GPT-4o erred": "A participant erred",
    "Use Claude Sonnet 4.5 or Claude 4.5 Sonnet.": "Use a participant or a participant.",
    "claude-sonnet-4-5 and CLAUDE": "A participant and a participant",
    "Llama 3.1 70B Instruct, meta-llama/Llama-3.1-70b:free": "A participant, a participant",
    "Qwen2.5-Coder-0.5B-Instruct agrees": "A participant agrees",
    "this Claude, my GPT-5, a non-OpenAI host": "this participant, my participant, a non-participant host",
    "_Claude_ and **Alpha**": "_A participant_ and **a participant**",
    "alpha's point": "A participant's point",
    "As lab:alpha says": "As a participant says",
}

KEPT = [
    "Alphabet, alphabetical, my_alpha_value, paralpha",
    "the local shop has free models in srv/weights",
    "Gemini, Mistral and Grok are not on this panel",
    "Claude Shannon and Jean-Claude Juncker",
    "I was at Google in 2010, and Google made me rich",
    "As Meta reported in 2023, prices fell",
    "I asked for 3 times 70 percent",
    "GPT disks, an opus in C minor, a haiku, a sonnet",
    "made by hand; trained by experts; as an assistant, I help",
    "",
]


@rows("text", SELF_NAMINGS)
def test_a_model_naming_itself_is_masked(text: str) -> None:
    assert mask(text, PANEL) == SELF_NAMINGS[text]


@rows("text", SELF_NAMINGS)
def test_a_model_naming_itself_is_masked_even_where_the_question_holds_the_name(text: str) -> None:
    trusted = "Is GPT-5, Claude, Gemini, Grok, Kimi, Bard, ChatGPT, alpha, OpenAI or Google best?"
    masked = mask(text, PANEL, trusted=trusted)
    assert "this participant" in masked.lower()
    assert not re.search(r"GPT|Claude|Gemini|Grok|Bard|Kimi|alpha", masked)


@rows("text", MENTIONS)
def test_names_of_the_panel_are_masked_everywhere(text: str) -> None:
    assert mask(text, PANEL) == MENTIONS[text]


@rows("text", KEPT)
def test_other_text_is_unchanged(text: str) -> None:
    assert mask(text, PANEL) == text


def test_names_in_the_trusted_text_are_subject_matter() -> None:
    trusted = "Should we move from GPT 4o to Claude?"
    text = "Claude is dearer than gpt-4o; Claude Sonnet 4.5 is dearer still, and alpha is free."
    expected = "Claude is dearer than gpt-4o; a participant is dearer still, and a participant is free."
    assert mask(text, PANEL, trusted=trusted) == expected


def test_a_maker_beside_a_name_in_the_trusted_text_is_masked_alone() -> None:
    assert mask("OpenAI GPT-4o won", PANEL, trusted="Is GPT-4o good?") == "A participant GPT-4o won"


@pytest.mark.parametrize("name", ["x", "7", "a", "this", "participant"])
def test_a_name_too_short_or_too_common_is_masked_only_in_its_reference(name: str) -> None:
    text = f"Participant X said: this is a case for 7 and x. {name}"
    assert mask(text, (f"lab:{name}",)) == text


def test_a_name_of_one_letter_is_masked_where_a_model_names_itself() -> None:
    assert (
        mask("As x, I disagree with lab:x.", ("lab:x",))
        == "As this participant, I disagree with a participant."
    )


def test_a_company_known_for_other_products_is_masked_only_alone() -> None:
    text = "Google Cloud runs it, says Google. Google Gemini does not."
    assert mask(text, ("google:gemini-2.5-pro",)) == (
        "Google Cloud runs it, says a participant. A participant does not."
    )


def test_a_name_never_reaches_into_the_next_line() -> None:
    assert mask("1. GPT-5\n2. Claude\n3. Other", PANEL) == "1. A participant\n2. A participant\n3. Other"


@rows(
    "ref",
    [
        "lab:command-r+",
        "lab:foo+bar",
        "bedrock:us.anthropic.claude-3-5-sonnet-20241022-v2:0",
        "ollama:llama3.2:1b",
        "fireworks:accounts/fireworks/models/llama-v3p1-70b-instruct",
        "azure:o1",
        "just-a-name",
        "lab:model-a",
        "lab:ünïcode-7b",
        "hub:C:\\weights\\phi-4.gguf",
    ],
)
def test_a_reference_of_any_shape_is_masked_whole(ref: str) -> None:
    model = ref.partition(":")[2] or ref
    for name in (ref, model, model.upper()):
        assert mask(f"So {name} says.", (ref,)) in ("So a participant says.", "So a participant+ says.")


@rows(
    "piece",
    [
        "the quick brown fox jumps as I am an ",
        "GPT-5 says. ",
        "I'm GPT-5, ",
        "gpt-",
        "I am ",
        "    ",
        "as made by ",
    ],
)
def test_a_megabyte_is_masked_in_linear_time(piece: str) -> None:
    mask("", PANEL)
    seconds = []
    for size in (40_000, 160_000):
        start = time.process_time()
        mask(piece * (size // len(piece)), PANEL)
        seconds.append(time.process_time() - start)
    # Four times the text may cost eight times as much on a busy machine, never sixteen.
    assert seconds[1] < 8 * max(seconds[0], 0.02)


PANELS = [
    PANEL,
    (),
    ("google:gemini-2.5-pro", "lab:model-a", "lab:this"),
    ("lab:x", "lab:made", "lab:a-participant"),
    ("openai:i", "local:model", "lab:3"),
]
PARTS = st.from_regex(r"[a-z][a-z0-9]{1,8}([-_.+][a-z0-9]{1,6}){0,2}", fullmatch=True)
REFS = st.lists(
    st.builds("{}:{}".format, st.sampled_from(["lab", "openai", "local", "google"]), PARTS),
    min_size=1,
    max_size=4,
)
WORDS = (
    "GPT-5|gpt-4o|Claude|Sonnet 4.5|OpenAI's|Anthropic|Gemini|Google|As|I|I'm|an|a|the|model|made by|by"
    "|,|. |: |\n|this|participant|here|me|trained|— |alpha|lab:alpha|-|_|/|**|3 times|7b|x|我是|Llama|rules"
)
BITS = st.sampled_from(WORDS.split("|"))
# The patterns of every new panel are compiled, which takes a tenth of a second.
FEW = examples(30)


@given(st.lists(BITS, max_size=30), st.sampled_from(["", " "]), st.sampled_from(PANELS), st.lists(BITS))
def test_masking_again_changes_nothing(
    bits: list[str], space: str, models: tuple[str, ...], trusted: list[str]
) -> None:
    once = mask(space.join(bits), models, trusted=" ".join(trusted))
    assert mask(once, models, trusted=" ".join(trusted)) == once


@FEW
@given(
    REFS,
    st.lists(BITS | st.text(max_size=5), max_size=12),
    st.sampled_from([" ", ", ", "-", "\n"]),
    st.data(),
)
def test_no_name_of_a_panel_model_remains_as_a_word(
    refs: list[str], bits: list[str], joint: str, data: st.DataObject
) -> None:
    names = [ref.partition(":")[2] for ref in refs]
    assume(
        not any(
            {"participant", "this", "a", "an", "the"} & set(re.split(r"[\W\d_]+", name)) for name in names
        )
    )
    masked = mask(joint.join(data.draw(st.permutations([*names, *bits]))), tuple(refs))
    for name in names:
        assert not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", masked, re.IGNORECASE)


@FEW
@given(REFS, st.lists(st.sampled_from(KEPT), max_size=3))
def test_every_name_in_the_trusted_text_stays(refs: list[str], bits: list[str]) -> None:
    text = " so ".join([*bits, *refs])
    assert mask(text, tuple(refs), trusted=text) == text


@given(st.text(alphabet=st.characters(categories=["Lo", "Po", "Zs", "Nd", "Cf"]), max_size=200))
def test_text_without_names_is_unchanged(text: str) -> None:
    assert mask(text, PANEL) == text


def test_spaces_and_dashes_of_every_kind_hide_no_name() -> None:
    joins = [chr(n) for n in range(0x110000) if re.fullmatch(r"[\s\-\u2010-\u2015]", chr(n))]
    assert len(joins) > 20
    for join in joins:
        assert "participant" in mask(f"as gpt{join}9x said", ("lab:gpt-9x",)).lower(), ascii(join)


@pytest.mark.parametrize(
    ("model", "name"), [("zephyr-7b-beta", "Zephyr"), ("vicuna-13b", "Vicuna"), ("yi-34b", "Yi")]
)
def test_a_name_without_its_size_is_masked_where_a_model_names_itself(model: str, name: str) -> None:
    models = (f"lab:{model}", "lab:other")
    assert name not in mask(f"As {name}, I would wait.", models)
    assert mask(f"The {name.lower()} blew all day.", models) == f"The {name.lower()} blew all day."
