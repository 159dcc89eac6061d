"""A trial for each test, and the line of its checker for the table."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.site import Site
from tests.faults.trial import KEY, Trial
from tests.interfaces.shell import spawn
from tests.support.scripted import ScriptedHost


@pytest.fixture(scope="session", autouse=True)
def warm() -> None:
    """Load the host's SDK, which takes some seconds, before the deadlines of the tests."""
    importlib.import_module("pydantic_ai.models.openai")
    spawn("ask", "--help").communicate()


@pytest.fixture
def trial(
    request: pytest.FixtureRequest,
    host: ScriptedHost,
    tmp_path: Path,
    home: Path,
    sqlite_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Trial]:
    """A trial on SQLite, in an empty folder, with its settings."""
    yield from _tried(request, Trial(host, tmp_path, home, sqlite_url), monkeypatch)


@pytest.fixture
def postgres_trial(
    request: pytest.FixtureRequest,
    host: ScriptedHost,
    tmp_path: Path,
    home: Path,
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Trial]:
    """A trial on PostgreSQL."""
    yield from _tried(request, Trial(host, tmp_path, home, postgres_url), monkeypatch)


@pytest.fixture
def site(postgres_trial: Trial) -> Iterator[Site]:
    """A server and workers on the database of a trial."""
    postgres_trial.settle(call_deadline_s=120)
    with ExitStack() as stack:
        yield Site(postgres_trial, stack)


@pytest.fixture(params=["trial", "postgres_trial"], ids=["sqlite", "postgresql"])
def either_trial(request: pytest.FixtureRequest) -> Trial:
    """A trial on SQLite, and one on PostgreSQL."""
    trial: Trial = request.getfixturevalue(request.param)
    return trial


def _tried(request: pytest.FixtureRequest, trial: Trial, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    monkeypatch.chdir(trial.folder)
    monkeypatch.setenv("PNYX_CONFIG", "lab.toml")
    monkeypatch.setenv("PNYX_DATABASE", trial.url)
    monkeypatch.setenv("LAB_KEY", KEY)
    failed = request.session.testsfailed
    yield trial
    if request.session.testsfailed == failed:
        assert trial.line is not None, "the checker did not run"
        request.node.user_properties.append(("fault", trial.line))
