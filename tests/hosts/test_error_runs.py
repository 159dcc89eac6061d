"""A sample of the errors in whole runs: how many requests, what they cost, and what comes of the run."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from pnyx.core.events import CallFailed, CallFinished, CallStarted, Event
from pnyx.core.models import Seat
from pnyx.providers.hosted.provider import HostedProvider, open_hosted
from pnyx.run.result import Result
from pnyx.store import Database
from pnyx.store.money.ledger import Account
from tests.hosts.case import PRICE, Case, Reply
from tests.hosts.test_errors import LIMIT, MARGIN, Row, errors, output_limit
from tests.hosts.trial import Trial, run
from tests.support.hosting import KEY
from tests.support.processes import Node, account_of
from tests.support.properties import THOROUGH
from tests.support.rows import rows
from tests.support.script import Fault, Request
from tests.support.scripted import ScriptedHost


def sample(table: str, step: int, *meanings: Any) -> list[tuple[Row, bool]]:
    """Some rows of a table, by turns with a stream and without: the first of each status, and every
    `step`-th, or in a usual run every second of these."""
    found = [row for row in errors(table) if not meanings or row.meaning in meanings]
    firsts = {row.status: row for row in reversed(found)}.values()
    some = found[:: step if THOROUGH else 2 * step]
    found = [row for row in found if row in firsts or row in some]
    return [(row, number % 2 == 0) for number, row in enumerate(found)]


def sampled(found: list[tuple[Row, bool]]) -> Callable[..., Any]:
    """Call a test with each error of a sample, one test for each table."""
    ids = [f"{row} {'stream' if stream else 'whole'}" for row, stream in found]
    return rows("row, stream", found, ids, groups=[row.table for row, _ in found])


async def tried(database: Database, row: Row, stream: bool) -> tuple[Trial, ScriptedHost]:
    body = row.body.replace(row.model, "alpha").encode()
    if stream and not row.status:
        body = b"data: " + body + b"\n\n"
    case = Case(
        name=str(row),
        host=row.host,
        dialect=row.dialect,
        stream=stream,
        file="errors",
        replies=[Reply(body, row.status or 200)],
        ask={"temperature": 0.7, "seed": 7, "max_tokens": LIMIT},
    )
    async with ScriptedHost() as lab:
        return await run(lab, database, case), lab


@sampled([*sample("refused", 5), *sample("auth", 5), *sample("not_found", 6)])
async def test_a_final_error_is_one_request_that_costs_nothing(
    database: Database, row: Row, stream: bool
) -> None:
    trial, lab = await tried(database, row, stream)
    (failed,) = trial.of(CallFailed)
    assert (failed.kind, failed.final) == (row.table, True)
    assert (len(lab.log), trial.spent, trial.reserved) == (1, 0, 0)
    assert trial.result.status == "failed"


@sampled([*sample("rate_limited", 5, -1, 0.12), *sample("overloaded", 5, -1)])
async def test_an_error_that_passes_is_tried_again_and_only_the_answer_costs(
    database: Database, row: Row, stream: bool
) -> None:
    trial, lab = await tried(database, row, stream)
    (failed,) = trial.of(CallFailed)
    assert (failed.kind, failed.final) == (row.table, False)
    assert (len(lab.log), trial.reserved) == (2, 0)
    assert bool(failed.charged_usd) is (row.status in (504, 524))
    charged = trial.reservation if row.status in (504, 524) else 0
    assert trial.spent == charged + lab.bill({"alpha": PRICE}) > charged
    assert trial.result.status == "single"


IN_A_REPLY = [
    ("openai", '{"error": {"code": 504, "message": "The deadline of the model server has passed"}}'),
    ("openai", '{"error": {"code": "524", "message": "A timeout occurred"}}'),
    ("openai", '{"choices": [{"index": 0, "delta": {}, "error": {"code": 504, "message": "upstream"}}]}'),
    ("anthropic", '{"type": "error", "error": {"type": "timeout_error", "message": "late"}}'),
    ("google", '{"error": {"code": 504, "status": "DEADLINE_EXCEEDED", "message": "late"}}'),
]


@rows("dialect, body, stream", [(*row, stream) for row in IN_A_REPLY for stream in (False, True)])
async def test_a_timeout_that_a_reply_reports_costs_nothing_unlike_one_of_a_gateway(
    database: Database, dialect: str, body: str, stream: bool
) -> None:
    trial, lab = await tried(database, Row(dialect, "alpha", 0, body), stream)
    (failed,) = trial.of(CallFailed)
    assert (failed.kind, failed.charged_usd) == ("overloaded", 0)
    assert trial.spent == lab.bill({"alpha": PRICE}) > 0
    assert (len(lab.log), trial.reserved, trial.result.status) == (2, 0, "single")


@sampled(sample("limit", 4) + sample("room", 4))
async def test_a_refused_output_limit_is_lowered_within_the_call(
    database: Database, row: Row, stream: bool
) -> None:
    trial, lab = await tried(database, row, stream)
    first, second = (request.body for request in lab.log)
    assert trial.of(CallFailed) == []
    assert output_limit(first) == LIMIT
    assert output_limit(second) in (row.meaning, row.meaning - MARGIN)
    assert trial.spent == lab.bill({"alpha": PRICE}) > 0
    assert trial.reserved == 0
    (reply,) = trial.of(CallFinished)
    assert len(reply.notes) == 1


@sampled(sample("drop", 3, "temperature", "seed", "random_seed"))
async def test_a_refused_parameter_is_left_out_within_the_call(
    database: Database, row: Row, stream: bool
) -> None:
    trial, lab = await tried(database, row, stream)
    first, second = ({**r.body, **r.body.get("generationConfig", {})} for r in lab.log)
    assert trial.of(CallFailed) == []
    assert first.keys() - second.keys() == {row.meaning}
    assert trial.spent == lab.bill({"alpha": PRICE}) > 0
    (reply,) = trial.of(CallFinished)
    assert [row.meaning in note for note in reply.notes] == [True]


class SmallHost(ScriptedHost):
    """Refuses the first prompt over `limit` characters, with the given response."""

    def __init__(self, limit: int, fault: Fault) -> None:
        super().__init__()
        self.limit, self.fault = limit, fault
        self.refused: Request | None = None

    def admit(self, path: str, raw: bytes, headers: dict[str, str]) -> Any:
        admitted = super().admit(path, raw, headers)
        if admitted is None or self.refused is not None or len(admitted[0].prompt) <= self.limit:
            return admitted
        self.refused = admitted[1]
        return admitted[0], admitted[1], self.fault


class TinyHost(ScriptedHost):
    """Refuses every prompt over `limit` characters with `words`, which get its numbers of tokens."""

    def __init__(self, limit: int, words: str) -> None:
        super().__init__()
        self.limit, self.words = limit, words

    def admit(self, path: str, raw: bytes, headers: dict[str, str]) -> Any:
        admitted = super().admit(path, raw, headers)
        if admitted is None or len(admitted[0].prompt) <= self.limit:
            return admitted
        words = self.words.format(length=len(admitted[0].prompt) // 4, limit=self.limit // 4)
        return admitted[0], admitted[1], Fault("", status=400, message=words)


NUMBERS = [
    "This model's maximum context length is {limit} tokens. However, your messages had {length} tokens.",
    "prompt is too long: {length} tokens > {limit} maximum",
    "The input token count ({length}) exceeds the maximum number of tokens allowed ({limit}).",
    "`inputs` must have less than {limit} tokens. Given: {length}",
    "the request exceeds the available context size ({limit} tokens), try increasing it",
    "Prompt contains {length} tokens, too large for model with {limit} maximum context length",
]


@rows("words", NUMBERS)
async def test_a_prompt_is_shortened_at_once_to_the_window_that_the_host_names(
    database: Database, words: str
) -> None:
    async with (host := TinyHost(9_000, words)):
        for model in "abc":
            host.on(model, text=" ".join(f"{model}x{number}" for number in range(4_000)))
        provider = open_hosted("openai", base_url=host.openai, api_key=KEY)
        result, log, _ = await _debate(database, provider)
    failed = [e for e in log if isinstance(e, CallFailed)]
    assert {(e.kind, e.final) for e in failed} == {("too_long", False)}
    assert len({e.key for e in failed}) == len(failed)  # each call was shortened once
    assert result.dropped == ()


async def _debate(database: Database, provider: HostedProvider) -> tuple[Result, list[Event], Account]:
    """Run a debate of three models, whose replies the others read, and close the provider."""
    node = Node(database, provider)  # type: ignore[arg-type]
    seats = tuple(Seat(f"Participant {m.upper()}", f"h:{m}", price=PRICE) for m in "abc")
    try:
        handle = await node.start(seats=seats, options={"rounds": 1}, budget_usd=5.0)
        result = await handle.result()
        return result, await node.log(handle.run_id), await account_of(node, handle.run_id)
    finally:
        await node.stop()
        await node.runner.ownership.keeper.close()
        await provider.close()


@sampled(sample("too_long", 9))
async def test_a_prompt_over_the_window_is_shortened_and_sent_again(
    database: Database, row: Row, stream: bool
) -> None:
    body = row.body.encode()
    if not row.status:
        body = b"data: " + body + b"\n\n"
    async with (host := SmallHost(20_000, Fault("", status=row.status or 200, body=body))):
        for model in "abc":
            host.on(model, text=" ".join(f"{model}x{number}" for number in range(4_000)))
        provider = open_hosted(row.dialect, base_url=getattr(host, row.dialect), api_key=KEY)
        result, log, account = await _debate(database, provider)
    (failed,) = [e for e in log if isinstance(e, CallFailed)]
    assert (failed.kind, failed.final, failed.charged_usd) == ("too_long", False, 0)
    whole, short, *_ = [e for e in log if isinstance(e, CallStarted) and e.key == failed.key]
    assert whole.cut == 0 < short.cut
    assert len(short.prompt) < len(whole.prompt)
    assert result.dropped == ()
    assert account.reserved_nusd == 0
    assert account.spent_nusd == host.bill(dict.fromkeys("abc", PRICE))


async def test_a_window_of_unknown_size_is_found_in_steps_and_remembered(database: Database) -> None:
    async with (host := TinyHost(12_000, "the prompt is too long")):
        for model in "abc":
            host.on(model, text=" ".join(f"{model}x{number}" for number in range(4_000)))
        provider = open_hosted("openai", base_url=host.openai, api_key=KEY)
        result, log, _ = await _debate(database, provider)
    assert result.dropped == ()
    for model in "abc":
        sent = [e for e in log if isinstance(e, CallStarted) and e.model == f"h:{model}"]
        failed = {(e.key, e.attempt) for e in log if isinstance(e, CallFailed)}
        refused = [e for e in sent if (e.key, e.attempt) in failed]
        lengths = [len(e.prompt) for e in refused]
        assert all(later < 0.7 * length for length, later in pairwise(lengths))
        last = sent.index(refused[-1])
        assert all(len(e.prompt) <= 12_000 for e in sent[last + 1 :])
