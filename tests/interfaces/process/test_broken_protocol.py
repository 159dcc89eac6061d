"""An installed protocol that does not load: the others work, and it is reported by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.interfaces.shell import pnyx
from tests.support.packages import Install
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server

OURS = [
    *("aggregate", "auto", "consensus", "council", "decompose"),
    *("deliberate", "escalate", "moa", "sample", "single", "voting"),
]
WHY = "protocol 'ailing' (ailing_page:PROTOCOL, of ailing-package) does not load: kaput"


@pytest.fixture(params=['raise ImportError("kaput")\n', 'raise SystemExit("kaput")\n'])
def ailing(install: Install, request: pytest.FixtureRequest) -> None:
    """A package whose protocol raises on import."""
    install("ailing-package", "pnyx.protocols", "ailing = ailing_page:PROTOCOL", request.param)


@pytest.mark.usefixtures("ailing")
def test_other_protocols_are_listed_and_it_is_reported() -> None:
    done = pnyx("protocols", "--json")
    assert (done.code, [page["name"] for page in done.json]) == (0, OURS)
    assert done.err == f"pnyx: {WHY}\n"
    assert "consensus: " in pnyx("protocols").out


@pytest.mark.usefixtures("ailing")
def test_asking_with_it_says_why_it_does_not_load() -> None:
    done = pnyx("ask", "Why?", "-p", "ailing")
    assert (done.code, done.out, done.err) == (2, "", f"pnyx: {WHY}\n")


@pytest.mark.usefixtures("ailing")
def test_the_doctor_names_its_package() -> None:
    done = pnyx("doctor")
    assert done.code == 0
    assert f"warn protocol ailing: {WHY}\n     -> update or uninstall ailing-package" in done.out


@pytest.mark.usefixtures("ailing")
def test_no_question_can_be_asked_if_it_is_the_default(tmp_path: Path) -> None:
    text = (tmp_path / "lab.toml").read_text()
    (tmp_path / "lab.toml").write_text(text.replace("[run]", '[run]\nprotocol = "ailing"'))
    done = pnyx("doctor")
    assert done.code == 1
    assert f"FAIL protocol ailing: {WHY}" in done.out
    assert "3 of 3 seats usable" in done.out


@pytest.mark.usefixtures("ailing")
async def test_a_server_lists_the_other_protocols(lab: ScriptedHost) -> None:
    async with open_server() as server, server.client() as client:
        listed = (await client.get("/v1/protocols")).json()
        models = (await client.get("/v1/models")).json()["data"]
    assert [page["name"] for page in listed] == OURS
    assert {"pnyx/consensus", "pnyx/consensus:quick"} <= {model["id"] for model in models}


def test_a_name_of_two_packages_is_used_for_neither(install: Install) -> None:
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


def test_a_package_that_takes_a_built_in_name_is_reported(install: Install) -> None:
    install(
        "other-package",
        "pnyx.protocols",
        "voting = other_page:PROTOCOL",
        "from pnyx.protocols.moa import PROTOCOL\n",
    )
    done = pnyx("ask", "Why?", "-p", "voting")
    assert done.code == 2
    assert "protocol 'voting' is registered by " in done.err
