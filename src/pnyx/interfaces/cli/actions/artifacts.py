"""`--artifacts DIR`: the folder of a running run, on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ....config.schema import Settings
from ....core.events import Event
from ....providers.registry import Providers
from ..records import with_records
from ..terminal.output import Output

__all__ = ["artifact_writer"]


@contextmanager
def artifact_writer(
    settings: Settings, output: Output, root: Path | None, run_id: str | None = None
) -> Iterator[Callable[[Event], object]]:
    """Return a function that adds an event to the artifacts in `root`; it does nothing if `root` is None.

    run_id: (a prefix of) the id of the run to resume. Raises `UsageError` before the run starts if the
    folder cannot be used. Reports at the end if some files could not be written.
    """
    if root is None:
        yield lambda event: None
        return
    # Most runs write no folder, and start faster without this import.
    from ...render.folder import Folder

    record = None
    if run_id is not None:
        record = with_records(settings, lambda records: records.read(run_id, prompts=False))
    folder = Folder(root, Providers(settings).redact, record.events if record else ())
    folder.claim(record.row.id if record else None)
    try:
        yield folder.add
    finally:
        if folder.problem is not None:
            why = folder.problem.strerror or folder.problem
            output.error(f"{root} is incomplete: {why}. Write it again with: pnyx export ID --format folder")
