"""A protocol that is installed and does not load: it hides no other one, and is told of by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pnyx import protocols
from tests.support.scripted import ScriptedHost
from tests.support.serving import served

from .shell import pnyx

OURS = [
    *("aggregate", "auto", "consensus", "council", "decompose"),
    *("deliberate", "moa", "sample", "single", "voting"),
]
WHY = "protocol 'ailing' (ailing_page:PROTOCOL, of ailing-package) does not load: kaput"


@pytest.fixture
def ailing(lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution whose protocol fails as it is imported."""
    site = tmp_path / "site"
    info = site / "ailing_package-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ailing-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pnyx.protocols]\nailing = ailing_page:PROTOCOL\n")
    (site / "ailing_page.py").write_text('raise ImportError("kaput")\n')
    monkeypatch.syspath_prepend(site)
    protocols._found.cache_clear()
    yield
    monkeypatch.undo()
    protocols._found.cache_clear()


@pytest.mark.usefixtures("ailing")
def test_the_others_are_listed_and_it_is_told_of() -> None:
    done = pnyx("protocols", "--json")
    assert (done.code, [page["name"] for page in done.json]) == (0, OURS)
    assert done.err == f"pnyx: {WHY}\n"
    assert "consensus: " in pnyx("protocols").out


@pytest.mark.usefixtures("ailing")
def test_asking_for_it_says_why_it_cannot_be_asked() -> None:
    done = pnyx("ask", "Why?", "-p", "ailing")
    assert (done.code, done.out, done.err) == (2, "", f"pnyx: {WHY}\n")


@pytest.mark.usefixtures("ailing")
def test_the_doctor_names_what_brought_it_along() -> None:
    done = pnyx("doctor")
    assert done.code == 0
    assert f"warn protocol ailing: {WHY}\n     -> update or uninstall ailing-package" in done.out


@pytest.mark.usefixtures("ailing")
def test_no_question_can_be_asked_where_it_is_the_default(tmp_path: Path) -> None:
    text = (tmp_path / "lab.toml").read_text()
    (tmp_path / "lab.toml").write_text(text.replace("[run]", '[run]\nprotocol = "ailing"'))
    done = pnyx("doctor")
    assert done.code == 1
    assert f"FAIL protocol ailing: {WHY}" in done.out
    assert "3 usable seats of 3" in done.out


@pytest.mark.usefixtures("ailing")
async def test_a_server_lists_the_others(lab: ScriptedHost) -> None:
    async with served() as server, server.client() as client:
        listed = (await client.get("/v1/protocols")).json()
        models = (await client.get("/v1/models")).json()["data"]
    assert [page["name"] for page in listed] == OURS
    assert {"pnyx/consensus", "pnyx/consensus:quick"} <= {model["id"] for model in models}
