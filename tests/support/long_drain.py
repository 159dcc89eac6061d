"""`python -m tests.support.long_drain ARGUMENTS …`: run pnyx with minutes for the calls of a stopped server.

So a test of what ends such a server sooner does not depend on seconds.
"""

from __future__ import annotations

import sys

from pnyx.interfaces.cli import main
from pnyx.interfaces.cli.actions import serve
from pnyx.interfaces.service.run_service import RunService

DRAIN_S = 300.0
setattr(serve, "DRAIN_S", DRAIN_S)  # noqa: B010 (a constant)
RunService.drain.__defaults__ = (DRAIN_S,)

if __name__ == "__main__":
    main(sys.argv[1:])
