"""`python -P -m pnyx` is `pnyx`. Without -P, Python imports modules from the working directory first."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from typing import NoReturn

__all__ = ["main"]

INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line. Ctrl-C while its modules are loaded ends the process with 130, without words."""
    # A signal that is ignored, as for `nohup`, stays so.
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handled:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from .interfaces.cli import main as run  # after the handler, which is for the time that this takes

    try:
        if handled:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    except SystemExit as exc:
        _end(exc.code)
        raise


def _end(code: object) -> None:
    """End the process with an exit code, and leave its memory to the system.

    Python would take down one module after the other, which is half of the CPU after the last reply. It still
    does where it is needed: for threads, a debugger or profiler, output that cannot be written, and a code
    that is words, which it prints.
    """
    monitoring = getattr(sys, "monitoring", None)  # of Python 3.12
    watched = sys.gettrace() or sys.getprofile() or (monitoring and any(map(monitoring.get_tool, range(6))))
    main_thread = threading.main_thread()
    threads = any(not one.daemon for one in threading.enumerate() if one is not main_thread)
    if watched or threads or not isinstance(code, int | None):
        return
    atexit._run_exitfuncs()
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code or 0)


if __name__ == "__main__":
    main()
