"""`python -m tests.support.kill_at_commit N ARGUMENTS …`: run pnyx, and kill it at its Nth commit (SIGKILL).

N is "3-" for just before the third commit and "3+" for just after it. With "0" nothing is killed, and the
last line of stderr is the number of commits.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from pnyx.interfaces.cli import main
from pnyx.store.engine import Database

commit = Database._commit
count = 0


async def counting(self: Database, group: Any) -> None:
    global count
    count += 1
    if sys.argv[1] == f"{count}-":
        os.kill(os.getpid(), signal.SIGKILL)
    await commit(self, group)
    if sys.argv[1] == f"{count}+":
        os.kill(os.getpid(), signal.SIGKILL)


Database._commit = counting  # type: ignore[method-assign]

if __name__ == "__main__":
    try:
        main(sys.argv[2:])
    finally:
        print(count, file=sys.stderr)
