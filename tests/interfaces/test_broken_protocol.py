"""A protocol that is installed and does not load: it hides no other one, and is told of by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interfaces.shell import pnyx
from tests.support.packages import Install, installing
from tests.support.scripted import ScriptedHost
from tests.support.serving import served

OURS = [
    *("aggregate", "auto", "consensus", "council", "decompose"),
    *("deliberate", "moa", "sample", "single", "voting"),
]
WHY = "protocol 'ailing' (ailing_page:PROTOCOL, of ailing-package) does not load: kaput"


@pytest.fixture
def install(lab: ScriptedHost, tmp_path: Path) -> Iterator[Install]:
    with installing(tmp_path / "site") as install:
        yield install


@pytest.fixture(params=['raise ImportError("kaput")\n', 'raise SystemExit("kaput")\n'])
def ailing(install: Install, request: pytest.FixtureRequest) -> None:
    """A distribution whose protocol fails as it is imported."""
    install("ailing-package", "pnyx.protocols", "ailing = ailing_page:PROTOCOL", request.param)


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


def test_a_name_that_two_packages_bring_is_used_for_neither(install: Install) -> None:
    page = "from pnyx.protocols.voting import PROTOCOL\n"
    install("first-package", "pnyx.protocols", "agora = first_page:PROTOCOL", page)
    install("second-package", "pnyx.protocols", "agora = second_page:PROTOCOL", page)
    done = pnyx("ask", "Why?", "-p", "agora")
    assert (done.code, done.out) == (2, "")
    found = re.fullmatch(
        r"pnyx: protocol 'agora' is registered by (\S+) or (\S+); uninstall all but one\n", done.err
    )
    assert found
    assert set(found.groups()) == {"first-package", "second-package"}
    assert [page["name"] for page in pnyx("protocols", "--json").json] == OURS
    assert f"-> update or uninstall {found[1]} or {found[2]}\n" in pnyx("doctor").out


def test_a_package_cannot_take_a_name_of_ours_unseen(install: Install) -> None:
    install(
        "other-package",
        "pnyx.protocols",
        "voting = other_page:PROTOCOL",
        "from pnyx.protocols.moa import PROTOCOL\n",
    )
    done = pnyx("ask", "Why?", "-p", "voting")
    assert done.code == 2
    assert "protocol 'voting' is registered by " in done.err
