"""`--artifacts DIR`: the folder of a run that goes on, on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ....config.schema import Settings
from ....core.events import Event
from ....providers.registry import Providers
from ..records import with_records
from ..terminal.output import Output

__all__ = ["kept"]


@contextmanager
def kept(
    settings: Settings, output: Output, root: Path | None, run_id: str | None = None
) -> Iterator[Callable[[Event], object]]:
    """What keeps the artifacts in `root` up to date when it is given the events; nothing where it is None.

    run_id: (a beginning of) the id of a run that is to go on. Raises `UsageError` before the run does
    anything, where the folder cannot be had; files that cannot be written later are told of at the end.
    """
    if root is None:
        yield lambda event: None
        return
    # Most runs keep no folder, and start sooner without what makes one.
    from ...render.folder import Folder

    record = None if run_id is None else with_records(settings, lambda records: records.read(run_id))
    folder = Folder(root, Providers(settings).redact, record.events if record else ())
    folder.claim(record.row.id if record else None)
    try:
        yield folder.add
    finally:
        if folder.problem is not None:
            why = folder.problem.strerror or folder.problem
            output.error(f"{root} is not complete: {why}; `pnyx export ID --format folder` writes it anew")
