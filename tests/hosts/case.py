"""The cases of `cases/*.toml`: what a host sends, and what comes of it.

A file holds `[[case]]` tables; keys above the first one are defaults of its cases. Keys:

- name, host: whose form it is, as in docs/hosts.md. dialect: the kind of provider.
- status, headers, and the body: `whole` and `stream` where the host was asked for one document or for a
  stream, `body` for both. `replies` instead is a list of tables of these keys, one for each request. After
  them, the host answers every request properly.
- ask: fields of `Call` beside the question, such as `seed = 7`. model: its name, "alpha" by default.
- text, reasoning, finish, detail, tools (a list of [name, arguments]), sources: of the completion.
- kind: the kind of `ProviderError` instead. says: words that its message must have. silent: words that no
  message may have. wait: the seconds that the host asks for.
- usd: what the replies of the case cost at `PRICE`, or "reserved". By default an error is free, and a
  completion has the usage `STANDARD`.
- requests: how many are sent in a run; by default one, or two where `kind` is retried
  or the reply is asked for again.
- lacks, has: keys that the last request lacks, and that it has, with their values.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pnyx.core.models import Price, Usage
from pnyx.errors import ProviderError

__all__ = ["PRICE", "STANDARD", "Case", "Reply", "load"]

FOLDER = Path(__file__).parent / "cases"
PRICE = Price(1.0, 4.0)
STANDARD = Usage(input_tokens=10, output_tokens=5)


@dataclass(frozen=True, slots=True)
class Reply:
    """One response of the host."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """See the module. file: where it stands."""

    name: str
    host: str
    dialect: str
    stream: bool
    file: str
    replies: Sequence[Reply]
    model: str = "alpha"
    ask: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    reasoning: str = ""
    finish: str = "stop"
    detail: str | None = None
    tools: Sequence[Any] = ()
    sources: Sequence[str] = ()
    kind: str = ""
    says: Sequence[str] = ()
    silent: Sequence[str] = ()
    wait: float | None = None
    usd: float | str | None = None
    requests: int | None = None
    lacks: Sequence[str] = ()
    has: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.file}/{self.name} ({'stream' if self.stream else 'whole'})"

    @property
    def sent(self) -> int:
        """How many requests a run sends."""
        is_retried = self.kind != "" and ProviderError.KINDS[self.kind]
        return self.requests or (1 + (is_retried or self.is_asked_again))

    @property
    def is_asked_again(self) -> bool:
        """Whether the reply has no answer for a reason that a second request may change."""
        return self.finish in ("length", "malformed") and not (self.text or "").strip() and not self.kind

    @property
    def nusd(self) -> int | None:
        """What the replies of the case cost, in nUSD; None: the reservation."""
        if self.usd == "reserved":
            return None
        if isinstance(self.usd, int | float):
            return round(self.usd * 1e9)
        return 0 if self.kind or not self.last_is_ours else PRICE.cost(STANDARD)

    @property
    def last_is_ours(self) -> bool:
        """Whether a reply of the case, and not the host's proper answer, is the last that a provider gets."""
        return self.is_asked_again or self.sent <= len(self.replies)


def load() -> list[Case]:
    """All cases, in the order of files and lines. Raises `ValueError` for a name that a file has twice."""
    cases = [case for path in sorted(FOLDER.glob("*.toml")) for case in _read(path)]
    names = [case.id for case in cases]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"cases with one name: {sorted(twice)}")
    return cases


def _read(path: Path) -> Iterator[Case]:
    defaults = tomllib.loads(path.read_text())
    for table in defaults.pop("case"):
        table = {**defaults, **table}
        replies = table.pop("replies", [{k: table.pop(k) for k in _REPLY if k in table}])
        known = {one.name for one in fields(Case)}
        if unknown := table.keys() - known:
            raise ValueError(f"{path.name}, {table['name']}: unknown keys {sorted(unknown)}")
        for way in ("whole", "stream"):
            if all("body" in reply or way in reply for reply in replies):
                sent = [_reply(reply, way) for reply in replies]
                yield Case(**table, file=path.stem, stream=way == "stream", replies=sent)


_REPLY = ("status", "headers", "body", "whole", "stream")


def _reply(table: Mapping[str, Any], way: str) -> Reply:
    body = str(table.get(way, table.get("body"))).encode()
    return Reply(body, table.get("status", 200), table.get("headers", {}))
