"""`python -m tests.support.short_lease ARGUMENTS …`: run pnyx with frequent heartbeats.

The queue is checked every half second instead of every five, so that tests do not wait. A lease has its 30 s:
a shorter one would expire on a machine that stalls. Tests set heartbeats back.
"""

from __future__ import annotations

import sys

from pnyx.interfaces.cli import main
from pnyx.run import worker
from pnyx.run.leases import lease_keeper

__all__ = ["BEAT_S"]

BEAT_S, SWEEP_S = 0.3, 0.5

for module, name, seconds in (
    (lease_keeper, "BEAT_S", BEAT_S),
    (worker, "BEAT_S", BEAT_S),
    (worker, "SWEEP_S", SWEEP_S),
):
    setattr(module, name, seconds)

if __name__ == "__main__":
    main(sys.argv[1:])
