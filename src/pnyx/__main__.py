"""`python -P -m pnyx` is `pnyx`. Without -P, Python imports modules from the working directory first."""

from __future__ import annotations

import os
import signal
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


if __name__ == "__main__":
    main()
