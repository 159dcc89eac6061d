"""What every test gets: no network, an empty home, no keys, warnings as errors, real databases."""

from __future__ import annotations

import gc
import itertools
import os
import re
import time
import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

from pnyx.config.paths import models_dir
from pnyx.gc_pause import YOUNG
from tests.support import network, properties
from tests.support.postgres import PostgresServer
from tests.support.scripted import ScriptedHost
from tests.support.sources import ROOT
from tests.support.waiting import until_midnight

network.forbid()

properties.load_profile()

# Weights are the one thing of the real home that tests may use: computed before the home is hidden.
MODELS = str(models_dir())

PERSONAL = re.compile(
    r"(PNYX|OPENAI|AZURE|ANTHROPIC|GOOGLE|GEMINI|MISTRAL|OLLAMA|AWS|XDG|OTEL|LOGFIRE)_.*|PG[A-Z]+"
    r"|.*_(API_KEY|TOKEN|SECRET|PROXY)|NO_COLOR|FORCE_COLOR|CLICOLOR.*|COLUMNS|LINES",
    re.IGNORECASE,
)
"""Environment variables that would let the machine's owner into a test."""


def pytest_sessionstart() -> None:
    """End the session if protocols or providers of pyproject.toml are not installed."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    installed = {(point.group, point.name, point.value) for point in distribution("pnyx").entry_points}
    if missing := {(group, *point) for group in declared for point in declared[group].items()} - installed:
        pytest.exit(f"not installed: {', '.join(sorted(name for _, name, _ in missing))}; run: make setup", 4)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage among the modules and tests, which stay until the session ends: it took a third of
    the time of importing them, and of many tests. Later as often as pnyx itself does."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(YOUNG)
        gc.enable()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    base = tmp_path_factory.mktemp("homes")
    return (base / str(n) for n in itertools.count(1))


@pytest.fixture(autouse=True)
def home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, and an environment that names no key, no settings and no proxy."""
    home = next(homes)
    home.mkdir()
    for name in filter(PERSONAL.fullmatch, list(os.environ)):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name, folder in {"CONFIG": ".config", "DATA": ".local/share", "CACHE": ".cache"}.items():
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / folder))
    monkeypatch.setenv("PNYX_MODELS", MODELS)
    return home


@pytest.fixture(autouse=True)
def one_day() -> None:
    """Start no test in the last minute of a day."""
    if wait_s := until_midnight(time.time()):
        time.sleep(wait_s + 0.1)


@pytest.fixture(autouse=True)
def loopback_only() -> Iterator[None]:
    """Fails a test that tried to leave the machine, even where the code swallowed the error."""
    network.refused.clear()
    yield
    if network.refused:
        pytest.fail("\n".join(network.refused))


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The server of this session, started when the first test wants it."""
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """The SQLAlchemy URL of an empty PostgreSQL database."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The SQLAlchemy URL of an SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'pnyx.db'}"


@pytest.fixture(params=["sqlite_url", "postgres_url"], ids=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Runs the test twice: on an empty SQLite file and on an empty PostgreSQL database."""
    url: str = request.getfixturevalue(request.param)
    return url


@pytest.fixture
def host() -> Iterator[ScriptedHost]:
    with ScriptedHost() as host:
        yield host
