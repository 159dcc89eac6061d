"""No pattern for the text of a host or a model takes longer than the text is long: it would stop a server."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Iterator

from pnyx import providers
from pnyx.providers.hosted.waits import MAX_CHARS, retry_after
from tests.support.rows import rows

PIECES = [
    *("1", "a", "A", "é", "中", " ", "\n", "\t", "\r\n", "(", ")", "[", "]", "{", "}", "<", ">", '"', "'"),
    *("`", "*", "_", "-", "|", ",", ".", ":", "/", "\\", "$", "=", "#", "“", "a_", "1.", "1,", "a.", "a-"),
    *("1 ", "a ", "1h ", "0x", "</", "<a>", "(a", "[a]", "{'a':", '{"a":', '\\"', "https://", "a@", "- "),
    *("| ", "a\n", "> ", "wait ", "retry ", "try again ", "over 1 ", "reset ", "context "),
]
CHARS = 2_000
WHOLE = ("_DOCUMENT", "_ONE_WORD")
"""Patterns that a whole text is compared with."""


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Each pattern of texts in the modules of the providers once, with its name in one of these."""
    seen = set[tuple[str, int]]()
    for found in pkgutil.walk_packages(providers.__path__, f"{providers.__name__}."):
        for name, value in vars(importlib.import_module(found.name)).items():
            for one in value if isinstance(value, tuple | list) else (value,):
                lazy = type(one).__name__ == "_LazyPattern"
                if not (lazy or isinstance(one, re.Pattern)) or not isinstance(one.pattern, str):
                    continue
                if (one.pattern, one.flags) not in seen:  # others are imported from another module
                    seen.add((one.pattern, one.flags))
                    yield f"{found.name}.{name}", one


def seconds(name: str, pattern: re.Pattern[str], text: str) -> float:
    start = time.thread_time()  # other processes do not count
    pattern.fullmatch(text)
    if not name.endswith(WHOLE):
        pattern.findall(text)
    return time.thread_time() - start


def test_every_pattern_is_linear_in_runs_of_every_kind() -> None:
    """One took 0.5 s for 2,000 digits, and four times as long for twice as many."""
    found = list(patterns())
    assert len(found) > 50
    slow = {
        (name, piece)
        for name, pattern in found
        for piece in PIECES
        if seconds(name, pattern, (piece * CHARS)[:CHARS]) > 0.1
    }
    assert slow == set()


@rows("before", ["", "try again in ", "over ", '"retry_after": ', "resets "])
@rows("piece", ["1", "1 ", "1.", "1,", "1s", "1h ", "1 s, ", " "])
def test_a_wait_is_found_in_time(before: str, piece: str) -> None:
    start = time.thread_time()
    retry_after({}, before + piece * MAX_CHARS)
    assert time.thread_time() - start < 0.2
