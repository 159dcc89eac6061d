"""A kind of provider that is installed and cannot be used: `pnyx doctor` reports it, and the others work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interfaces.shell import pnyx
from tests.support.packages import Install
from tests.support.scripted import ScriptedHost

WHY = "provider kind 'ailing' (ailing_kind:KIND, of ailing-package) does not load: kaput"


@pytest.fixture(params=['raise ImportError("kaput")\n', 'raise SystemExit("kaput")\n'])
def ailing(install: Install, request: pytest.FixtureRequest) -> None:
    install("ailing-package", "pnyx.providers", "ailing = ailing_kind:KIND", request.param)


def configure() -> None:
    with Path("lab.toml").open("a") as file:
        file.write('[providers.mine]\nkind = "ailing"\nthreads = 2\n[models."mine:x"]\ncontext = 9000\n')


@pytest.mark.usefixtures("ailing")
def test_the_doctor_names_the_package_and_a_question_can_be_asked() -> None:
    done = pnyx("doctor")
    assert done.code == 0
    assert f"warn provider kind ailing: {WHY}\n     -> update or uninstall ailing-package" in done.out


@pytest.mark.usefixtures("ailing")
def test_the_doctor_fails_a_configured_provider_of_it_and_no_other() -> None:
    configure()
    done = pnyx("doctor")
    assert "FAIL provider mine: its kind ailing cannot be used" in done.out
    assert "ok   provider lab: " in done.out
    assert (done.code, "3 of 3 seats usable" in done.out) == (0, True)


@pytest.mark.usefixtures("ailing")
def test_other_providers_answer_and_its_own_says_why_it_cannot(lab: ScriptedHost) -> None:
    configure()
    lab.on("*", text="It is so.\n\nFinal answer: 42")
    assert pnyx("ask", "-p", "voting", "Why?").code == 0
    done = pnyx("ask", "-p", "single", "-m", "mine:x", "Why?")
    assert (done.code, done.err) == (2, f"pnyx: {WHY}\n")
    assert "unusable kind: see pnyx doctor" in pnyx("models").out


def test_a_package_that_takes_a_built_in_kind_is_reported(install: Install) -> None:
    text = "import pnyx\nKIND = pnyx.ProviderKind(name='mistral', open=print)\n"
    install("other-package", "pnyx.providers", "mistral = other_kind:KIND", text)
    done = pnyx("ask", "-m", "mistral:x", "-p", "single", "Why?")
    assert done.code == 2
    assert "provider kind 'mistral' is registered by " in done.err
    assert "warn provider kind mistral: " in pnyx("doctor").out
