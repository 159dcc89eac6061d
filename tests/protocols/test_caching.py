"""What a prompt shares with earlier ones is at its start, where hosts cache it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.caching import CONTEXT, PANELS, STRETCH, measure, prompts
from tests.support.properties import THOROUGH

PAIRS = [(panel, context) for panel in PANELS for context in (0, CONTEXT)]
CASES = PAIRS if THOROUGH else [PAIRS[0], PAIRS[3]]
"""Each panel and each context, in a thorough run with each other."""


@pytest.mark.parametrize(("panel", "context"), CASES)
@pytest.mark.parametrize("protocol", ["consensus", "council", "deliberate", "moa"])
def test_nine_tenths_of_what_a_model_has_read_before_stand_in_a_prefix(
    protocol: str, panel: str, context: int
) -> None:
    shares = measure(prompts(protocol, PANELS[panel], context))
    assert shares.ratio >= 0.9
    assert shares.prefix > 0.4


def test_only_the_start_counts_as_a_prefix_and_any_place_for_the_bound() -> None:
    one, two = "".join(map(chr, range(200, 400))), "".join(map(chr, range(500, 600)))
    shares = measure([("m", one), ("m", one + two), ("m", two + one), ("n", one)])
    assert shares.characters == 200 + 300 + 300 + 200
    assert shares.prefix == 200 / 1000
    assert shares.bound == (200 + 300) / 1000


@given(st.lists(st.text("ab", max_size=40), max_size=5), st.integers(1, 9))
def test_the_bound_is_never_below_the_prefix_but_for_what_is_shorter_than_a_stretch(
    texts: list[str], stretch: int
) -> None:
    sent = [("m", text) for text in texts if text]
    if sent:
        shares = measure(sent, stretch)
        short = (stretch - 1) * len(sent) / shares.characters
        assert shares.prefix <= shares.bound + short + 1e-9
        assert shares.bound <= 1


def test_prompts_are_longer_than_a_stretch() -> None:
    assert min(len(text) for _, text in prompts("moa", PANELS["3 models"])) > 10 * STRETCH
