"""How errors of a host that nobody has tried are read: `python -m benchmarks.unseen_hosts`.

For each host of `tests/hosts/errors.toml`, the words and codes that only its own errors have are taken out of
the tables, and its errors are read with the rest. What is then misread is the share to expect of an unseen
host. Invented rows (`variant`) are neither read nor a reason to have a word. Other languages than English and
Chinese stay in, because their table was written from no host.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import inspect
import itertools
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from pnyx.providers import hosted
from pnyx.providers.hosted import failure_codes
from tests.hosts import test_errors
from tests.hosts.test_errors import KINDS, TABLE, Row, errors

INVENTED = "variant"
NEVER = "(?!)"
TESTS = {
    **dict.fromkeys(KINDS, test_errors.test_an_error_that_no_other_request_helps_has_its_kind),
    "nothing": test_errors.test_a_parameter_named_in_passing_is_kept,
    "limit": test_errors.test_an_output_limit_over_that_of_the_model_is_lowered_for_all_requests,
    "room": test_errors.test_an_output_limit_over_the_room_beside_a_prompt_is_lowered_to_it,
    "drop": test_errors.test_exactly_the_refused_parameter_is_left_out,
    "schema": test_errors.test_a_schema_is_described_in_the_prompt_where_it_is_refused,
    "rename": test_errors.test_the_output_limit_is_sent_by_its_other_name,
    "level": test_errors.test_a_level_of_thinking_that_is_refused_becomes_the_closest_one_that_the_host_names,
    "adaptive": test_errors.test_a_level_is_sent_to_a_model_that_decides_how_many_tokens_it_thinks,
    "system": test_errors.test_instructions_are_sent_in_the_first_message_where_there_is_no_system_role,
    "responses": test_errors.test_a_model_of_the_responses_api_is_asked_there_with_all_parameters,
    "stream": test_errors.test_a_stream_is_asked_for_where_there_is_no_other_reply,
}
# The test of one row.
CHECKS: dict[str, Callable[[Row], None]] = {table: inspect.unwrap(test) for table, test in TESTS.items()}


@dataclass(slots=True)
class Words:
    """A pattern of the tables, and which hosts use each of its alternatives.

    branches: the start of each alternative in the text. groups: the alternatives that stand side by side.
    texts: host -> what the pattern has found something in. users: start of an alternative -> its hosts.
    """

    lazy: Any
    text: str
    flags: int
    groups: list[list[int]] = field(default_factory=list)
    texts: dict[str, set[str]] = field(default_factory=lambda: collections.defaultdict(set))
    users: dict[int, set[str]] = field(default_factory=lambda: collections.defaultdict(set))

    def __post_init__(self) -> None:
        self.groups = [group for group in alternatives(self.text) if len(group) > 1 or group == [0]]

    def without(self, starts: set[int]) -> str:
        """The pattern without the alternatives at `starts`, with the same groups."""
        cuts = [0, *sorted(starts), len(self.text)]
        return NEVER.join(self.text[a:b] for a, b in itertools.pairwise(cuts))

    def use(self, text: str) -> None:
        """Let the library search with `text` instead of the pattern."""
        self.lazy.__dict__.clear()
        self.lazy.__dict__["_arguments"] = (text, self.flags)

    def find_users(self) -> None:
        for group in self.groups:
            for start in group:
                alone = re.compile(self.without(set(group) - {start}), self.flags)
                for host, texts in self.texts.items():
                    if any(alone.search(text) for text in texts):
                        self.users[start].add(host)

    def only_of(self, host: str) -> set[int]:
        return {start for start, hosts in self.users.items() if hosts - {INVENTED} == {host}}


def alternatives(text: str) -> list[list[int]]:
    """Where the alternatives of a pattern start: a list for each group, and the first for all of it.

    Those inside of a look-around are left out.
    """
    found: list[list[int]] = [[0]]
    open_groups = [(found[0], False)]
    at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "[":
            at = cast(re.Match[str], _CLASS.match(text, at)).end() - 1
        elif text[at] == "(":
            prefix = cast(re.Match[str], _PREFIX.match(text, at))
            group: list[int] = [prefix.end()]
            is_around = open_groups[-1][1] or "=" in prefix[0] or "!" in prefix[0]
            open_groups.append((group, is_around))
            at = prefix.end() - 1
            if not is_around:
                found.append(group)
        elif text[at] == ")":
            open_groups.pop()
        elif text[at] == "|":
            open_groups[-1][0].append(at + 1)
        at += 1
    return found


_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_PREFIX = re.compile(r"\((?:\?(?:P<\w+>|P=\w+|<[=!]|[:=!]))?")


def tables() -> list[Words]:
    """All patterns of the modules that read errors."""
    found: dict[int, Words] = {}
    for module in pkgutil.iter_modules(hosted.__path__, f"{hosted.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            for lazy in _patterns(value):
                text, flags = lazy._arguments
                found.setdefault(id(lazy), Words(lazy, text, flags))
    return list(found.values())


def _patterns(value: Any) -> Iterator[Any]:
    if type(value).__name__ == "_LazyPattern":
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _patterns(one)
    elif isinstance(value, dict):
        yield from _patterns(list(value.values()))


def is_misread(row: Row) -> bool:
    try:
        CHECKS[row.table](row)
    except (AssertionError, ValueError, KeyError, StopIteration):
        return True
    return False


class _Codes(dict[str, int]):
    """The codes, which notes those that are looked up."""

    seen: ClassVar[set[str]] = set()

    def get(self, name: str, default: Any = None) -> Any:
        if name in self:
            self.seen.add(name)
        return super().get(name, default)


def record(words: list[Words], found: list[tuple[str, Row]]) -> dict[str, set[str]]:
    """Note what each pattern finds something in, for each host. Returns the hosts of each code.

    A pattern is tried on all that any pattern is given: which is tried first says nothing about a word.
    """
    codes, hosts = _Codes(failure_codes._STATUSES), collections.defaultdict[str, set[str]](set)
    texts = collections.defaultdict[str, set[str]](set)
    host = ""
    for one in words:
        compiled = re.compile(one.text, one.flags)
        for method in ("search", "match", "fullmatch", "finditer", "findall", "sub", "split"):

            def call(*args: Any, method: str = method, compiled: Any = compiled, **options: Any) -> Any:
                texts[host].add(next(arg for arg in args[method == "sub" :] if isinstance(arg, str)))
                return getattr(compiled, method)(*args, **options)

            one.lazy.__dict__[method] = call
    failure_codes._STATUSES = codes
    for row in found:
        host = row.host
        _Codes.seen.clear()
        is_misread(row)
        for code in _Codes.seen:
            hosts[code].add(host)
    for one in words:
        one.use(one.text)
        search = re.compile(one.text, one.flags).search
        for host, some in texts.items():
            one.texts[host] = set(filter(search, some))
    return hosts


def measured() -> tuple[list[Row], list[Row]]:
    """All rows of hosts, and those that are misread without the words of their host alone."""
    found = errors(*filter(CHECKS.__contains__, TABLE))
    words = tables()
    codes = record(words, found)
    all_codes = dict(failure_codes._STATUSES)
    for one in words:
        one.find_users()
    found = [row for row in found if row.host != INVENTED]
    missed = []
    for host in sorted({row.host for row in found}):
        changed = [(one, starts) for one in words if (starts := one.only_of(host))]
        for one, starts in changed:
            one.use(one.without(starts))
        lost = {code for code, hosts in codes.items() if hosts - {INVENTED} == {host}}
        failure_codes._STATUSES = {code: s for code, s in all_codes.items() if code not in lost}
        missed += [row for row in found if row.host == host and is_misread(row)]
        for one, _ in changed:
            one.use(one.text)
    return found, missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the errors that are misread")
    listed = parser.parse_args().list
    found, missed = measured()
    print(f"{'errors':12} of hosts  misread")
    for name in dict.fromkeys(row.table for row in found):
        counts = [sum(row.table == name for row in some) for some in (found, missed)]
        print(f"{name:12} {counts[0]:8} {counts[1]:8}")
    print(f"{'all':12} {len(found):8} {len(missed):8}  {len(missed) / len(found):.1%}")
    if listed:
        for row in missed:
            print(f"{row} {row.status}: {row.body}")


if __name__ == "__main__":
    main()
