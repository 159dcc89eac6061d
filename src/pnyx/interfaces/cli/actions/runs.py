"""The actions of `pnyx runs`, `recall`, `status`, `show`, `export` and `cancel`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ....config.schema import Settings
from ....core.decision import UNDECIDED
from ....core.models import money
from ....core.prose.search_terms import Snippet
from ....errors import UsageError
from ....evaluate.owners import OWNER
from ....providers.registry import Providers
from ....store.money.costs import TOKENS
from ...process.open_settings import open_settings
from ...records.existing_database import existing_database
from ...records.runs import RunRecords
from ...render.folder import Folder
from ...render.folder_files import live_events
from ...render.markdown import Redact, as_markdown
from ...render.markdown_overview import change_words
from ...render.run_json import run_json
from ...render.terminal import clip, columns, flat, safe, wrap
from ...service.run_service import RunService
from ...views.costs import sums_by_model
from ...views.files import file_words, files_of
from ...views.outcome import headline, stop_message, usage_line
from ...views.overview import overview
from ...views.records import Record
from ...views.transcript import Transcript, quantity
from ..records import with_records
from ..terminal.json_list import JsonList
from ..terminal.output import Stream, streams
from ..terminal.plain import INDENT, WIDE, answer_lines, end_lines, entry_lines, paragraph
from ..terminal.table import Table
from .label import label_words

__all__ = ["cancel", "export", "recall", "runs", "show", "status"]

PAGE = 100
"""Runs that are read at once: the question of each may be 2 MB."""
SHOWN = 2_000
"""Events of a run that `pnyx show` prints without `--all`, the newest."""
TOGETHER = 1000
"""Runs of a search that are read at once: for each page, the database ranks all that match."""
COLUMNS = {"run": 0, "when (UTC)": 56, "status": 0, "protocol": 80, "calls": 80, "cost": 80, "question": 0}
"""Column of a list of runs -> the width from which it leaves room for the question, without which nobody
recognises a run."""


def runs(
    status: str | None, tag: str | None, pinned: bool, limit: int, evaluations: bool, as_json: bool
) -> int:
    output = streams()
    except_owner = None if evaluations else OWNER
    filters: dict[str, Any] = {"status": status, "without": except_owner, "tag": tag, "pinned": pinned}
    table, printed = _run_table(output.out), JsonList(output.out)

    async def read(stored: RunRecords) -> bool:
        """Whether there are runs of evaluations alone."""
        found = False
        async for page in _pages(stored, limit, filters):
            found = True
            if as_json:
                printed.add([record.printed for record in page])
            else:
                for record in page:
                    table.add(_row(record, table, _name(record)))
        return not found and bool(await stored.list_runs(limit=1, **filters | {"without": None}))

    hidden = with_records(open_settings(), read)
    if as_json:
        printed.end()
    elif not table.end():
        parts = (
            status and f"the status {status}",
            "" if tag is None else f"the tag {tag or repr(tag)}",
            "a pin" if pinned else "",
        )
        wanted = " and ".join(filter(None, parts))
        none = f"no runs with {flat(wanted)}" if wanted else "no runs yet"
        output.note(f"{none}; those of evaluations: pnyx runs --evaluations" if hidden else none)
    return 0


async def _pages(stored: RunRecords, limit: int, filters: dict[str, Any]) -> AsyncIterator[list[Record]]:
    """At most `limit` runs, in pages: 100,000 at once would take gigabytes of memory."""
    after = None
    while limit > 0 and (page := await stored.list_runs(limit=min(limit, PAGE), after=after, **filters)):
        yield page
        limit -= len(page)
        after = page[-1].row.created_at, page[-1].row.id


def _name(record: Record) -> str:
    """The title of a run, or else its question; after it whether it is pinned, and its tags."""
    labels = record.labels
    marks = ", ".join((*(("pinned",) if labels.pinned else ()), *labels.tags))
    return (labels.title or record.result.question) + (f" [{marks}]" if marks else "")


def _run_table(stream: Stream, without: Collection[str] = ()) -> Table:
    heads = [
        name
        for name, least in COLUMNS.items()
        if name not in without and (stream.width is None or stream.width >= least)
    ]
    return Table(stream, heads, right=[heads.index(name) for name in ("calls", "cost") if name in heads])


def _row(record: Record, table: Table, question: str) -> list[str]:
    """The cells of a run for the columns of the table. question: what the last of them shows."""
    result, when = record.result, record.row.created_at[:16].replace("T", " ")
    cells = {
        "run": result.run_id,
        # Without the year where there is little room.
        "when (UTC)": when if "protocol" in table.heads else when[5:],
        "status": result.status,
        "protocol": result.protocol,
        "calls": f"{result.usage['calls']}",
        "cost": money(result.usage["cost_usd"]),
        "question": clip(question, 1000),
    }
    return [cells[name] for name in table.heads]


def recall(text: str, limit: int, evaluations: bool, plain: bool, as_json: bool) -> int:
    output = streams(plain=plain)
    except_owner = None if evaluations else OWNER
    table = _run_table(output.out, without=("calls", "cost"))
    printed = JsonList(output.out)

    async def read(stored: RunRecords) -> None:
        place, left = None, limit
        while left:
            most = min(left, TOGETHER)
            found = await stored.recall(text, most, without=except_owner, place=place)
            if place is None and not found.hits:
                output.note("no run contains any of these words")
            elif place is None and not found.every:
                output.note("no run contains all of these words; these runs contain some of them")
            if as_json:
                printed.add(found.to_json())
            else:
                for record, snippet in found.hits:
                    table.add(_row(record, table, record.result.question), _highlight(snippet, output.out))
            place, left = found.next, left - len(found.hits)
            if place is None:
                break

    with_records(open_settings(), read)
    if as_json:
        printed.end()
    else:
        table.end()
    return 0


def _highlight(snippet: Snippet, stream: Stream) -> Iterator[str]:
    # Text that is safe never contains these two characters.
    start, end, inside = "\x02", "\x03", False
    text = "".join(f"{start}{safe(piece)}{end}" if hit else safe(piece) for piece, hit in snippet)
    for line in wrap(text, stream.width or WIDE, INDENT):
        painted = []
        for piece in re.split(f"([{start}{end}])", line):
            if piece in (start, end):
                inside = piece == start
            else:
                painted.append(stream.paint(piece, *(("bold", "yellow") if inside else ())))
        yield "".join(painted)


def status(run_id: str, as_json: bool) -> int:
    output = streams()
    record = with_records(open_settings(), lambda stored: stored.state(run_id))
    document = record.document
    if as_json:
        output.json(record.printed)
        return 0
    state = stop_message(document) if record.result.status in UNDECIDED else headline(document)
    line = "  ".join([record.row.id, flat(state), usage_line(document), clip(_name(record), 60)])
    output.out.lines(wrap(line, output.out.width or WIDE))
    return 0


def show(run_id: str, *, verbose: bool, plain: bool, whole: bool = False, as_json: bool = False) -> int:
    output = streams(plain=plain)
    if as_json:
        with_records(open_settings(), partial(_write_json, run_id, output.out.write))
        return 0

    async def read(stored: RunRecords) -> tuple[Record, list[dict[str, Any]]]:
        record = await stored.read(run_id, prompts=False, newest=None if whole else SHOWN)
        return record, sums_by_model(await stored.costs_of(record.row.id))

    record, costs = with_records(open_settings(), read)
    output.out.lines(_transcript(record, costs, output.out, verbose))
    return 0


async def _write_json(run_id: str, write: Callable[[str], object], stored: RunRecords) -> None:
    """Write the result object with the run's events."""
    record = await stored.state(run_id)
    async for part in run_json(record.printed, stored.pages(record.row)):
        write(part)


def _transcript(
    record: Record, costs: Sequence[dict[str, Any]], stream: Stream, reasoning: bool
) -> Iterator[str]:
    width = stream.width or WIDE
    result, view, last = record.document, Transcript(), 0
    yield stream.paint("Question", "bold", "cyan")
    yield from wrap(safe(record.row.question), width, INDENT)
    if words := label_words(record.labels):
        yield from wrap(flat(f"labels {words}"), width, INDENT)
    for row in files_of(record.events):
        yield from wrap(flat(f"file {file_words(row)}"), width, INDENT)
    for event in record.events:
        seq = event.seq or 0
        if left := seq - last - 1:
            yield ""
            yield from paragraph(stream, _left_out(left, record.row.id), "yellow")
        last, entry = seq, view.add(event)
        if entry is not None:
            yield ""
            yield from entry_lines(stream, entry, whole=True, reasoning=reasoning)
    yield ""
    if result["answer"]:
        yield stream.paint(headline(result), "bold", "cyan")
        yield from answer_lines(stream, result["answer"])
        yield ""
    if result["status"] in UNDECIDED:
        yield stream.paint(stop_message(result), "yellow")
    yield from end_lines(stream, result, view.tools)
    yield from _panel(record, stream)
    yield from paragraph(stream, f"run {record.row.id} · pnyx export {record.row.id} --format md", "dim")
    yield ""
    rows = [["model", "calls", "tokens in", "cached", "out", "cost"]]
    for total in costs:
        counts = (total[name] for name in ("calls", *TOKENS))
        rows.append([total["model"], *(f"{n:,}" for n in counts), money(total["cost_usd"])])
    yield from columns(rows, (1, 2, 3, 4, 5), stream.width, least=(3, 1))


def _left_out(count: int, run_id: str) -> str:
    left = f"{quantity(count, 'event')} left out"
    return f"… {left}: the last {SHOWN:,} follow. All of them: pnyx show {run_id} --all"


def _panel(record: Record, stream: Stream) -> Iterator[str]:
    """Where the seats agree and differ, and who changed their mind, if that is known."""
    found = overview(record.events)
    sentences = [one for group in found["panel"].values() for one in group]
    for title, lines in (
        ("the panel", sentences),
        ("changes of mind", [change_words(change) for change in found["changes"]]),
    ):
        if lines:
            yield stream.paint(title, "bold")
        for line in lines:
            yield from wrap(flat(line), stream.width or WIDE, INDENT)


def export(run_id: str, form: str | None, out: str | None) -> int:
    form = form or _format_of(out)
    settings = open_settings()
    redact = Providers(settings).redact
    if form == "json":
        with_records(settings, partial(_export_json, run_id, out, redact))
        return 0
    record = with_records(settings, lambda stored: stored.read(run_id, prompts=False))
    if form == "folder":
        return _folder(record, redact, Path(out or f"pnyx-{record.row.id}"))
    if form == "html":
        # Only the page requires the Markdown parser.
        from ...render.html import as_html

        text = as_html(record, redact)
    else:
        text = as_markdown(record, redact)
    with _writer(out) as write:
        write(text)
    return 0


async def _export_json(run_id: str, out: str | None, redact: Redact, stored: RunRecords) -> None:
    record = await stored.state(run_id)
    with _writer(out) as write:
        async for part in run_json({"result": record.document}, stored.pages(record.row), redact):
            write(part)


@contextmanager
def _writer(out: str | None) -> Iterator[Callable[[str], object]]:
    """What writes to a file, or to stdout. Raises `UsageError` if the file cannot be written."""
    if out is None:
        yield streams().out.write
        return
    path, opened = Path(out), False
    try:
        with path.open("w", encoding="utf-8") as file:
            opened = True
            yield file.write
    except OSError as exc:
        if opened and path.is_file():
            # Half a document can look like a whole one.
            path.unlink()
        raise UsageError(f"cannot write {out}: {exc.strerror or exc}") from exc
    streams().note(f"saved to {out}")


def _format_of(out: str | None) -> str:
    """The format that the name of a file ends with. Raises `UsageError`."""
    ends = {".json": "json", ".md": "md", ".markdown": "md", ".html": "html", ".htm": "html"}
    form = ends.get(Path(out or "").suffix.lower())
    if form is None:
        known = ", ".join(dict.fromkeys(ends.values()))
        raise UsageError(f"which format? Pass --format json, md, html or folder, or --out FILE.EXT ({known})")
    return form


def _folder(record: Record, redact: Redact, root: Path) -> int:
    folder = Folder(root, redact, live_events(record))
    folder.claim(record.row.id)
    folder.flush()
    if folder.problem is not None:
        raise UsageError(f"cannot write {root}: {folder.problem.strerror or folder.problem}")
    streams().note(f"saved to {root}")
    return 0


def cancel(run_id: str) -> int:
    async def end(settings: Settings) -> Record:
        async with RunService.open(settings, create=False) as service:
            return await service.state(await service.cancel(run_id))

    with existing_database(open_settings()) as settings:
        result = asyncio.run(end(settings)).result
    if result.status == "cancelled":
        message = "is cancelled"
    elif result.status in UNDECIDED:
        message = "will be cancelled within a second"
    else:
        message = f"has already finished: {result.status}"
    streams().err.line(f"run {result.run_id} {message}")
    return 0
