"""A very long transcript is still opened and replayed quickly."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from tests.faults.trial import Trial
from tests.support.stored import rows_of_file

EVENTS = 10_000


def test_a_transcript_of_10_000_events_opens_and_replays_in_under_2_s(trial: Trial) -> None:
    done = trial.ask()
    run_id, path = done.json["run_id"], trial.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as connection, connection:
        rows = rows_of_file(Path(path))
        *body, end = [json.loads(text) for *_, text in rows]
        first = next(i for i, event in enumerate(body) if event["type"] == "phase_entered")
        spare = {**body[first], "phase": "propose", "answer": "The answer so far. " * 20}
        spares = [spare | {"key": f"/spare/{n}"} for n in range(EVENTS - len(rows))]
        order = [*body[: first + 1], *spares, *body[first + 1 :], end]
        whole = [event | {"seq": seq} for seq, event in enumerate(order, 1)]
        connection.execute("DELETE FROM events")
        connection.executemany(
            "INSERT INTO events (run_id, seq, type, body) VALUES (?, ?, ?, ?)",
            [(run_id, event["seq"], event["type"], json.dumps(event)) for event in whole],
        )
        connection.execute("UPDATE runs SET seq = ?", (EVENTS,))
    sent = len(trial.host.log)
    for command in (("show", run_id), ("resume", run_id, "--json"), ("export", run_id, "--format", "json")):
        started_at = time.process_time()  # other processes do not count
        assert trial.pnyx(*command).code == 0
        assert time.process_time() - started_at < 2, command
    assert len(trial.host.log) == sent
    assert len(trial.check(f"{EVENTS:,} events shown, resumed and exported").run.events) == EVENTS
