"""Counts as another library makes them.

`corpora/tallies.json` was written once, by pref_voting as named in it: truncated profiles (`rankings`, one
letter a candidate) with their plurality scores, the size of a strict majority, and symmetric Borda scores
(candidates below less candidates above, the unranked below all). The library itself brings numba and
OR-tools, too much to install for one comparison.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pnyx.core.voting.tally import borda, majority_of, plurality
from tests.support.rows import rows

PROFILES = json.loads((Path(__file__).parents[1] / "corpora" / "tallies.json").read_text())["profiles"]


@rows("profile", PROFILES, ids=[",".join(p["rankings"]) + " of " + p["candidates"] for p in PROFILES])
def test_counts_agree_with_pref_voting(profile: dict[str, Any]) -> None:
    rankings, candidates = profile["rankings"], profile["candidates"]
    tally = plurality([ranking[0] for ranking in rankings])
    most = max(profile["plurality"].values())
    assert {label: tally.counts.get(label, 0) for label in candidates} == profile["plurality"]
    assert tally.leaders == tuple(label for label in candidates if profile["plurality"][label] == most)
    assert majority_of(len(rankings)) == profile["majority"]
    # Ours counts the candidates below only, those unranked by halves: an affine map of the symmetric score.
    shift = len(rankings) * (len(candidates) - 1)
    assert borda(rankings, candidates) == {
        label: (score + shift) / 2 for label, score in profile["symmetric_borda"].items()
    }
