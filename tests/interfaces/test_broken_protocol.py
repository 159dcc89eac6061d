"""A protocol that is installed and does not load: it hides no other one, and is told of by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pnyx import protocols
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost
from tests.support.serving import served

OURS = [
    *("aggregate", "auto", "consensus", "council", "decompose"),
    *("deliberate", "moa", "sample", "single", "voting"),
]
WHY = "protocol 'ailing' (ailing_page:PROTOCOL, of ailing-package) does not load: kaput"


Install = Callable[[str, str, str], None]


@pytest.fixture
def install(lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package of its own, with one module and one protocol: its name, the module's, its text."""
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(site)

    def put(package: str, point: str, page: str) -> None:
        info = site / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        module = point.partition("= ")[2].partition(":")[0]
        (info / "entry_points.txt").write_text(f"[pnyx.protocols]\n{point}\n")
        (site / f"{module}.py").write_text(page)
        protocols._found.cache_clear()
        protocols.get.cache_clear()

    yield put
    monkeypatch.undo()
    protocols._found.cache_clear()
    protocols.get.cache_clear()


@pytest.fixture(params=['raise ImportError("kaput")\n', 'raise SystemExit("kaput")\n'])
def ailing(install: Install, request: pytest.FixtureRequest) -> None:
    """A distribution whose protocol fails as it is imported."""
    install("ailing-package", "ailing = ailing_page:PROTOCOL", request.param)


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
    install("first-package", "agora = first_page:PROTOCOL", page)
    install("second-package", "agora = second_page:PROTOCOL", page)
    done = pnyx("ask", "Why?", "-p", "agora")
    assert (done.code, done.out) == (2, "")
    found = re.fullmatch(
        r"pnyx: protocol 'agora' may be that of (\S+) or (\S+); uninstall all but one\n", done.err
    )
    assert found
    assert set(found.groups()) == {"first-package", "second-package"}
    assert [page["name"] for page in pnyx("protocols", "--json").json] == OURS
    assert f"-> update or uninstall {found[1]} or {found[2]}\n" in pnyx("doctor").out


def test_a_package_cannot_take_a_name_of_ours_unseen(install: Install) -> None:
    install("other-package", "voting = other_page:PROTOCOL", "from pnyx.protocols.moa import PROTOCOL\n")
    done = pnyx("ask", "Why?", "-p", "voting")
    assert done.code == 2
    assert "protocol 'voting' may be that of " in done.err
