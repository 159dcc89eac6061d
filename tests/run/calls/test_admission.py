"""Admission: no order of calls of any runs brings an account above its cap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, event

from pnyx.run.calls.admission import Need, Refusal, Request, admit
from pnyx.store.clock import add_clock
from pnyx.store.creation import create_tables
from pnyx.store.money import holds, ledger
from pnyx.store.money.holds import Hold
from pnyx.store.records import runs as store
from tests.support.properties import examples

RUNS = 4
AMOUNT = st.integers(1, 400)
STEP = st.tuples(
    st.integers(0, RUNS - 1),
    st.sampled_from(["call", "begin", "settle", "end"]),
    st.tuples(AMOUNT, AMOUNT, AMOUNT).map(sorted),
    st.integers(0, 600),
    st.floats(0, 1),
)


@dataclass
class Accounts:
    """Runs that share the accounts of a day and a batch. open: run -> reservations of its calls in flight."""

    connection: Connection
    shared: Mapping[str, int | None]
    own: int | None
    open: dict[int, list[int]] = field(default_factory=lambda: {n: [] for n in range(RUNS)})

    def caps(self, run: int) -> dict[str, int | None]:
        return {f"run:r{run}": self.own, **self.shared}

    def call(self, run: int, sizes: list[int], held: int, begins: bool) -> int | Refusal:
        least, enough, most = sizes
        scopes = {scope: scope for scope, cap in self.shared.items() if cap is not None}
        need = Need(held, held // 2) if begins else None
        request, hold = Request(most, enough, least), Hold(f"r{run}", scopes, held)
        caps, own = self.caps(run), f"run:r{run}"
        admitted = admit(self.connection, caps, own, request, hold, need, lambda worker, beat: True)
        if not isinstance(admitted, Refusal):
            assert least <= admitted <= most
            self.open[run].append(admitted)
        return admitted

    def settle(self, run: int, share: float) -> None:
        reserved = self.open[run].pop()
        ledger.settle(self.connection, list(self.caps(run)), reserved, int(share * reserved))

    def check(self) -> None:
        for run in range(RUNS):
            for scope, cap in self.caps(run).items():
                account = ledger.read_account(self.connection, scope)
                assert cap is None or account.spent_nusd + account.reserved_nusd <= cap
                if scope.startswith("run:"):
                    assert account.reserved_nusd == sum(self.open[run])


def accounts(shared: Mapping[str, int | None], own: int | None) -> Accounts:
    engine = create_engine("sqlite://")
    event.listen(engine, "connect", add_clock)
    connection = engine.connect()
    create_tables(connection)
    for run in range(RUNS):
        row = store.RunRow.new(
            f"r{run}", "local", f"2030-01-01T00:00:0{run}.000Z", "single", "Q?", {}, worker="w"
        )
        store.create(connection, row)
    return Accounts(connection, shared, own)


@examples(50)
@given(
    st.lists(STEP, max_size=40),
    st.none() | st.integers(0, 1500),
    st.none() | st.integers(0, 1500),
    st.none() | st.integers(0, 900),
)
def test_spent_and_reserved_never_pass_a_cap(
    steps: list[tuple[int, str, list[int], int, float]], day: int | None, batch: int | None, own: int | None
) -> None:
    books = accounts({"day:2030-01-01": day, "batch:b": batch}, own)
    for run, action, sizes, held, share in steps:
        if action == "settle" and books.open[run]:
            books.settle(run, share)
        elif action == "end":
            holds.end(books.connection, f"r{run}")
        else:
            books.call(run, sizes, held, action == "begin")
        books.check()
    books.connection.close()


def test_a_younger_run_leaves_what_an_older_one_needs_and_the_older_one_does_not() -> None:
    books = accounts({"day:2030-01-01": 1000}, None)
    assert books.call(0, [100, 100, 300], 500, begins=False) == 300
    # 700 are left, of which the older run needs 200 more than it has reserved.
    refused = books.call(1, [600, 600, 600], 600, begins=False)
    assert isinstance(refused, Refusal)
    assert refused.scope == "day:2030-01-01"
    assert books.call(1, [100, 100, 600], 600, begins=False) == 500
    assert books.call(0, [100, 100, 300], 500, begins=False) == 200


def test_a_call_waits_for_room_only_while_room_may_come() -> None:
    books = accounts({}, 1000)
    assert books.call(0, [10, 800, 800], 0, begins=False) == 800
    waits = books.call(0, [10, 400, 800], 0, begins=False)
    assert isinstance(waits, Refusal)
    assert waits.scope == "run:r0"
    books.settle(0, 1.0)
    assert books.call(0, [10, 400, 800], 0, begins=False) == 200
    books.settle(0, 1.0)
    pauses = books.call(0, [10, 400, 800], 0, begins=False)
    assert isinstance(pauses, Refusal)
    assert (pauses.scope, pauses.error.account.scope, pauses.error.amount) == (None, "run:r0", 800)


def test_a_run_is_begun_with_room_for_all_of_it_behind_older_runs_and_alone() -> None:
    books = accounts({"day:2030-01-01": 1000}, None)
    assert books.call(0, [50, 50, 100], 600, begins=True) == 100
    behind = books.call(1, [50, 50, 100], 500, begins=True)
    assert isinstance(behind, Refusal)
    assert behind.scope is not None
    books.settle(0, 0.5)
    holds.end(books.connection, "r0")
    assert books.call(1, [50, 50, 100], 500, begins=True) == 100
    books.settle(1, 1.0)
    holds.end(books.connection, "r1")
    alone = books.call(2, [50, 50, 100], 2000, begins=True)
    assert isinstance(alone, Refusal)
    assert (alone.scope, alone.error.expected) == (None, 1000)
