"""Random protocols killed before every call and resumed: the same decision, nothing journaled sent again."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from pnyx.core.events import Event
from pnyx.core.phases import Phases
from pnyx.core.protocol import Protocol
from pnyx.core.steps import Ask, Brief, Decision, Panel
from pnyx.core.text import Draft
from pnyx.errors import NoQuorum, ProviderError, SeatAbsent
from pnyx.providers.base import Call
from pnyx.run.drive import drive
from pnyx.store import Database
from tests.support.panels import Host, ProcessKilled, open_database, performer, seats
from tests.support.properties import examples
from tests.support.replaying import check_kills, check_log, read_log

SEATS = seats("h:1", "h:2", "h:3")
BRIEF = Brief("Q?", "2026-01-01")

# A tree: ("ask", seat) | ("all", [tree …]) | ("graph", [(needs, tree) …]) | ("seq", [tree …]) | ("run", tree)
leaves = st.tuples(st.just("ask"), st.integers(0, 2))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.just("seq"), st.lists(inner, min_size=1, max_size=3)),
        st.tuples(st.just("all"), st.lists(inner, min_size=1, max_size=3)),
        st.tuples(
            st.just("graph"),
            st.lists(st.tuples(st.sets(st.integers(0, 2)), inner), min_size=1, max_size=3),
        ),
        st.tuples(st.just("run"), inner),
    ),
    max_leaves=7,
)


def ask(seat: int, text: str) -> Ask:
    return Panel(SEATS).ask(SEATS[seat], Draft("t", "0", (text,)))


async def walk(tree: Any, place: str, panel: Panel) -> str:
    """Perform the tree; the prompt of each ask is its place and all earlier replies there."""
    kind, body = tree
    if kind == "ask":
        try:
            return (await ask(body, place)).text
        except SeatAbsent:
            return f"{place} silent"
    if kind == "seq":
        said = ""
        for i, part in enumerate(body):
            said = await walk(part, f"{place}/{i} after {hash_of(said)}", panel)
        return said
    if kind == "all":
        branches = [walk(part, f"{place}.{i}", panel) for i, part in enumerate(body)]
        return " ".join(await panel.all(branches, quorum=0))
    if kind == "graph":

        def node(i: int, part: Any) -> Any:
            return lambda given: walk(part, f"{place}:{i} given {hash_of(' '.join(given.values()))}", panel)

        nodes = {
            str(i): (tuple(str(n) for n in sorted(needs) if n < i), node(i, part))
            for i, (needs, part) in enumerate(body)
        }
        return " ".join((await panel.graph(nodes, quorum=0)).values())
    return (await panel.run(f"inner {place}", Brief(place, BRIEF.today, {"tree": body}))).answer


def hash_of(text: str) -> str:
    return str(sum(i * ord(c) for i, c in enumerate(text, 1)) % 99991)


async def script(brief: Brief, panel: Panel) -> Decision:
    return Decision(answer=await walk(brief.options["tree"], brief.question, panel))


PROTOCOL = Protocol("tree", "", Phases(()), script)


def rule(call: Call) -> str | Exception:
    said = call.messages[-1].text
    if int(hash_of(said)) % 11 == 0:
        return ProviderError("refused", "no")
    return f"{call.model} on {hash_of(said)}"


async def attempt(tree: Any, database: Database, host: Host, seen: list[Event] | None = None) -> Decision:
    handler = await performer(database, host, SEATS, seen=seen)

    def resolve(name: str, brief: Brief) -> tuple[Protocol, Brief]:
        return PROTOCOL, brief

    decision = await drive(PROTOCOL, Brief("Q", BRIEF.today, {"tree": tree}), Panel(SEATS), handler, resolve)
    await handler.context.journal.append()
    return decision


async def outcome(tree: Any, database: Database, host: Host) -> Decision | str:
    try:
        return await attempt(tree, database, host)
    except NoQuorum as exc:  # every seat was dropped
        return str(exc)


async def kill_everywhere(tree: Any, folder: Path) -> None:
    database = await open_database(folder, "whole.db")
    whole = Host(rule)
    expected = await outcome(tree, database, whole)
    check_log(await read_log(database))
    await database.close()
    await check_kills(folder, partial(outcome, tree), whole, expected)


@examples(12, suppress_health_check=[HealthCheck.too_slow])
@given(trees)
def test_killed_before_any_call_and_resumed_it_decides_the_same_and_pays_once(tree: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(kill_everywhere(tree, Path(folder)))


async def test_a_changed_question_diverges_instead_of_mixing_replies(tmp_path: Path) -> None:
    from pnyx.errors import Diverged

    database = await open_database(tmp_path)
    tree: Mapping[str, Any] | Any = ("seq", [("ask", 0), ("ask", 1)])
    with pytest.raises(ProcessKilled):
        await attempt(tree, database, Host(rule, die_before=1))
    with pytest.raises(Diverged, match="--fork"):
        await attempt(("seq", [("ask", 1), ("ask", 1)]), database, Host(rule))
    await database.close()
