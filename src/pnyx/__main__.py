"""`python -P -m pnyx` is `pnyx`. Without -P, Python imports modules from the working directory first."""

from __future__ import annotations

from .interfaces.cli import main

if __name__ == "__main__":
    main()
