"""`python -m tests.support.short_lease ARGUMENTS …`: run pnyx with short leases.

A worker counts as dead after 3 seconds without a heartbeat instead of 30, and the queue is checked every half
second instead of every five, so that tests do not wait half a minute.
"""

from __future__ import annotations

import sys

from pnyx.interfaces.cli import main
from pnyx.run import worker
from pnyx.run.leases import lease, lease_keeper

__all__ = ["BEAT_S", "LEASE_S"]

BEAT_S, LEASE_S, SWEEP_S = 0.3, 3.0, 0.5

for module, name, seconds in (
    (lease, "LEASE_S", LEASE_S),
    (worker, "LEASE_S", LEASE_S),
    (lease_keeper, "BEAT_S", BEAT_S),
    (lease_keeper, "LEASE_S", LEASE_S),
    (worker, "BEAT_S", BEAT_S),
    (worker, "SWEEP_S", SWEEP_S),
):
    setattr(module, name, seconds)

if __name__ == "__main__":
    main(sys.argv[1:])
