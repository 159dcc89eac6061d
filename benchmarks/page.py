"""How fast the page opens and scrolls a long list of runs, and a run of 10,000 events.

    .venv/bin/python -m benchmarks.page [--runs 100000] [--folder FOLDER]

The home is that of `benchmarks.homes`, with two finished runs of 10,000 events: in 500 rounds, and all in
one. Opened is from the click to the first row, or to the verdict; loaded is when all of the debate is there.
Script is the time that the page's own code took until then. Scrolling goes one screen at a time through the
whole page, at most 300 screens; a frame counts from one animation frame to the next, without a graphics card.
Needs Debian's chromium-headless-shell and `make web`.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from playwright.sync_api import CDPSession, Page
from sqlalchemy import Connection

from benchmarks.homes import SETTINGS, build
from pnyx.core.events import Event, RunFinished
from pnyx.core.models import Payer
from pnyx.run.run_rows import new_id
from pnyx.store import Database
from pnyx.store.records import runs as store
from tests.support.browsing import Tab, chromium, serving

SCROLL = """async ({screens}) => {
    const frame = () => new Promise(requestAnimationFrame);
    const gaps = [];
    let before = await frame();
    for (let n = 0; n < screens && scrollY + innerHeight < document.documentElement.scrollHeight - 2; n++) {
        scrollBy({top: innerHeight * 0.9, behavior: "instant"});
        for (let i = 0; i < 3; i++) {
            const now = await frame();
            gaps.push(now - before);
            before = now;
        }
    }
    gaps.sort((a, b) => a - b);
    const at = (share) => gaps[Math.min(gaps.length - 1, Math.floor(share * gaps.length))];
    return [gaps.length, at(0.5), at(0.95), at(1), document.querySelectorAll("*").length];
}"""
EVENTS, ROUNDS = 10_000, 500


async def add_long(file: Path) -> list[str]:
    """Store two finished runs of 10,000 events, in 500 rounds and in one. Return their ids."""
    with closing(sqlite3.connect(file)) as db:
        query = "SELECT id FROM runs JOIN events ON id = run_id WHERE type = 'run_finished' LIMIT 1"
        (id,) = db.execute(query).fetchone()
    database = await Database.open(file)
    row = await database.read(lambda c: store.find(c, id))
    log = await database.read(lambda c: store.log(c, id))
    first, *body = [one for one in log if not isinstance(one, RunFinished)]
    last = next(one for one in log if isinstance(one, RunFinished))
    runs = []
    for rounds in (ROUNDS, 1):
        events: list[Event] = [replace(first, seq=None)]
        for n in range(EVENTS - 2):
            turn, event = divmod(n, len(body))
            round = 1 + n * rounds // EVENTS
            events.append(replace(body[event], seq=None, key=f"/{turn}{body[event].key}", round=round))
        run_id = new_id()
        result = {**(row.result or {}), "run_id": run_id}
        copy = replace(row, id=run_id, seq=0, epoch=1, result=result)
        events.append(replace(last, seq=None, result=result))
        await database.write(partial(_write, row=copy, events=events))
        runs.append(run_id)
    await database.close()
    return runs


def _write(connection: Connection, row: store.RunRow, events: list[Event]) -> None:
    store.create(connection, row)
    store.append(connection, row.id, 1, events, payer=Payer("local", "consensus"))


def timed(page: Page, address: str, place: str) -> float:
    """Seconds from the change of the address until `place` is drawn."""
    start = time.perf_counter()
    page.evaluate("(hash) => { location.hash = hash }", address)
    page.locator(place).first.wait_for()
    return time.perf_counter() - start


def measure(page: Page, name: str, address: str, place: str) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    before = _script_s(session)
    start = time.perf_counter()
    opened = timed(page, address, place)
    page.get_by_text("Loading the debate").wait_for(state="detached", timeout=120_000)
    loaded = time.perf_counter() - start
    script = _script_s(session) - before
    frames, median, most, longest, nodes = page.evaluate(SCROLL, {"screens": 300})
    seconds = " | ".join(f"{one:.2f} s" for one in (opened, loaded, script))
    times = " | ".join(f"{one:.0f} ms" for one in (median, most, longest))
    print(f"| {name} | {seconds} | {frames} | {times} | {nodes:,} |", flush=True)


def _script_s(session: CDPSession) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "ScriptDuration"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where the home is kept; default: a temporary folder")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "pnyx.db"
        if not file.exists():
            build(folder, args.runs, 1000)
        rounds, one_round = asyncio.run(add_long(file))
        config = f'{SETTINGS}[storage]\nurl = "sqlite:///{file}"\n'
        with serving(folder, config) as server, chromium() as browser, Tab.open(browser) as tab:
            tab.page.goto(server.link)
            tab.question.wait_for()
            print(
                "| page | opened | loaded | script | frames | median | 95 % | longest | elements at the end |"
            )
            print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
            for _ in range(2):
                measure(tab.page, f"runs, {args.runs:,}", "#/runs", ".run-row")
                measure(tab.page, "run, 500 rounds", f"#/runs/{rounds}", ".verdict")
                measure(tab.page, "run, one round", f"#/runs/{one_round}", ".verdict")


if __name__ == "__main__":
    main()
