"""What the user learns of a model's host: a prompt that it cut, parameters that it refuses."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.models import Seat, Usage
from pnyx.core.text import estimate_tokens
from pnyx.providers.base import Completion
from pnyx.run.calls.host_notes import cut_prompt, host_notes
from tests.support.rows import rows

SEAT = Seat("Participant A", "lab:alpha")
PROSE = "The assembly met on the hill and voted by show of hands. "


@rows(
    "reported, characters, cut",
    [
        (2048, 60_000, True),  # the default window of older Ollama
        (4096, 60_000, True),
        (4096, 20_000, False),  # about 5 characters in a token
        (15_000, 60_000, False),
        (0, 60_000, False),  # not reported
        (12, 60_000, False),  # only what was not cached
        (300, 1_200, False),
    ],
)
def test_a_host_that_reads_far_fewer_tokens_than_were_sent_has_cut_the_prompt(
    reported: int, characters: int, cut: bool
) -> None:
    prompt = (PROSE * (characters // len(PROSE) + 1))[:characters]
    assert cut_prompt(reported, prompt) == (reported if cut else None)


@given(text=st.text(max_size=3000), share=st.floats(0.3, 1.0))
def test_a_host_that_counts_as_real_tokenizers_do_is_never_blamed(text: str, share: float) -> None:
    # A third to all of the upper bound: 2 to 6 bytes in a token.
    assert cut_prompt(round(share * estimate_tokens(text)), text) is None


def test_the_note_says_what_was_read_and_what_to_set() -> None:
    done = Completion("Yes.", Usage(input_tokens=2048, output_tokens=2), notes=("alpha calls a b",))
    named, cut = host_notes(SEAT, PROSE * 1000, done)
    assert named == "lab:alpha calls a b"
    assert cut.startswith("lab:alpha has read only 2,048 of about ")
    assert 'Set context = 2048 in [models."lab:alpha"]' in cut
    assert "OLLAMA_CONTEXT_LENGTH" in cut


def test_a_reply_without_usage_or_notes_says_nothing() -> None:
    assert list(host_notes(SEAT, PROSE * 1000, Completion("Yes."))) == []
