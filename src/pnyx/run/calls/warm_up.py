"""Warms up: reads sample replies while the first request of a run is on its way.

Patterns are compiled and tables are built when they are first used. The first debate of a process needs more
than two hundred of them, between a reply and the request that follows from it: 70 ms of CPU. A model takes
longer than that to reply, so a thread uses them in that time.
"""

from __future__ import annotations

import asyncio
import threading
from functools import lru_cache

from ...core.anonymity.mask import mask
from ...core.answers.replies.extract import final_answer
from ...core.answers.same.equivalence import same_answer
from ...core.caching.lru import LRU
from ...core.markup.reasoning import ReasoningSplitter
from ...core.parsing.ballots import read_ballot
from ...core.prose.convergence import overlap
from ...core.prose.language import is_english
from ...core.prose.search_terms import fold_words
from ...core.prose.substance import is_substantive
from ...core.sycophancy.detect import find_praise, has_objection, is_blank, is_refusal

__all__ = ["WarmUp", "read_samples"]

DELAY_S = 0.03
"""Seconds from a request to the warm_up: connections are made and requests are written in them."""

QUESTION = "How many of the 12 cases hold, and which of (a) and (b) is right?"
FORMATTED = """**Proposal:** As GPT-5, I think that the claim holds for 3/4 of the cases; see `case[2]`.

1. The second "case" isn't decisive, and does not follow from the first.
2. Participant A says (a), but the answer was (b), not (a); therefore it is option B.

- Therefore the result is **9 cases**, or about 75 %.
- Nevertheless, it fails where none is counted.

**Final answer:** 9 cases, so (b)
"""
PROSE = """The claim holds for most of the cases, and the evidence of the last one decides the matter here.
I would keep it, since 9 of the 12 cases are counted and the other proposal leaves 3 of them out.
"""
NAMED = "The claim holds for most of the cases.\nFinal answer: Caching\n"
ANSWERS = ("Nine cases", "9", "b", "the first way", "Batching (all at once)")
LABELS = ("Participant A", "Participant B")
BALLOT = "The claim of Participant A does not hold, since 3 cases are left out.\n\nFINALIZE: Participant B"


class WarmUp:
    """Which panels of this process had a warm-up."""

    def __init__(self) -> None:
        self._seen: LRU[tuple[str, ...], bool] = LRU(64, lambda names: False)

    def begin(self, names: tuple[str, ...]) -> None:
        """Warm up in a thread in a moment, unless these names had one. names: see `Panel.names`."""
        if not self._seen[names]:
            self._seen[names] = True
            # A daemon: neither the end of the event loop nor that of the process waits for it.
            thread = threading.Thread(target=read_samples, args=(names,), name="pnyx-warm-up", daemon=True)
            asyncio.get_running_loop().call_later(DELAY_S, thread.start)


@lru_cache(maxsize=64)
def read_samples(names: tuple[str, ...]) -> None:
    """Use all that reads most replies, what takes longest first. names: see `Panel.names`."""
    mask(FORMATTED, names)
    for text in (PROSE, FORMATTED, NAMED):
        is_blank(text)
        is_refusal(text)
        find_praise(text)
        answer = final_answer(text, QUESTION) or text
        for other in ANSWERS:
            same_answer(answer, other, QUESTION)
        has_objection(text)
        is_substantive(text)
        is_english(text, QUESTION)
    ReasoningSplitter().end()
    same_answer("A", "Nine (a) cases", "Should we?")
    read_ballot(BALLOT, LABELS)
    overlap([PROSE], [FORMATTED])
    fold_words(PROSE)
