"""`pnyx keys`: API keys in the keyring, behind those in the environment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail
from keyring.errors import KeyringLocked, PasswordDeleteError

from tests.interfaces.conftest import KEY
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost

STORED = "sk-stored-9876543210"


class Memory(KeyringBackend):
    """A keyring in memory. locked: nothing can be read."""

    priority = 1
    locked = False

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked("the keyring is locked")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError("no such password")


@pytest.fixture
def memory() -> Iterator[Memory]:
    before, backend = keyring.get_keyring(), Memory()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


@pytest.fixture
def no_keyring() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())  # type: ignore[no-untyped-call]
    yield
    keyring.set_keyring(before)


@pytest.fixture
def keyless(lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch) -> ScriptedHost:
    """The host, whose key is not in the environment."""
    monkeypatch.delenv("LAB_KEY")
    lab.on("*", text="It is so.\nFinal answer: 42")
    return lab


def sources() -> dict[str, str | None]:
    return {one["variable"]: one["source"] for one in pnyx("keys", "list", "--json").json}


@pytest.mark.parametrize("name", ["lab", "LAB_KEY", "$LAB_KEY"])
def test_a_stored_key_is_sent_and_a_variable_takes_precedence(
    keyless: ScriptedHost, memory: Memory, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert sources()["LAB_KEY"] is None
    done = pnyx("keys", "set", name, stdin=f"{STORED}\n".encode())
    assert (done.code, done.out) == (0, ""), done.err
    assert memory.kept == {("pnyx", "LAB_KEY"): STORED}
    assert sources()["LAB_KEY"] == "keyring"
    assert pnyx("doctor").code == 0
    assert pnyx("ask", "-p", "single", "Why?").code == 0
    assert keyless.log[-1].headers["authorization"] == f"Bearer {STORED}"
    monkeypatch.setenv("LAB_KEY", KEY)
    assert sources()["LAB_KEY"] == "environment"
    assert pnyx("ask", "-p", "single", "Why not?").code == 0
    assert keyless.log[-1].headers["authorization"] == f"Bearer {KEY}"


def test_a_removed_key_is_gone(keyless: ScriptedHost, memory: Memory) -> None:
    pnyx("keys", "set", "lab", stdin=STORED.encode())
    assert pnyx("keys", "remove", "lab").code == 0
    assert memory.kept == {}
    assert sources()["LAB_KEY"] is None
    again = pnyx("keys", "remove", "lab")
    assert (again.code, "pnyx keys list" in again.err) == (2, True)


def test_no_file_and_no_output_has_the_key(
    keyless: ScriptedHost, memory: Memory, home: Path, tmp_path: Path
) -> None:
    pnyx("keys", "set", "lab", stdin=STORED.encode())
    keyless.on("*", text=f"Your key is {STORED}.")
    run = pnyx("ask", "-p", "single", "-v", "Why?")
    shown = [run, pnyx("keys", "list"), pnyx("doctor"), pnyx("models"), pnyx("config", "show")]
    assert STORED not in "".join(done.out + done.err for done in shown)
    files = [file for root in (home, tmp_path) for file in root.rglob("*") if file.is_file()]
    assert (home / ".local/share/pnyx/keys.json") in files
    assert not [file for file in files if file.name != "stdin" and STORED.encode() in file.read_bytes()]


@pytest.mark.usefixtures("no_keyring", "keyless")
def test_without_a_keyring_the_variable_to_set_is_named() -> None:
    done = pnyx("keys", "set", "lab", stdin=STORED.encode())
    assert done.code == 2
    assert "this system has no keyring that can be used" in done.err
    assert "export LAB_KEY=YOUR_KEY" in done.err


def test_a_locked_keyring_is_named_where_the_key_is_missed(keyless: ScriptedHost, memory: Memory) -> None:
    pnyx("keys", "set", "lab", stdin=STORED.encode())
    memory.locked = True
    done = pnyx("ask", "Why?")
    assert done.code == 2
    assert "export LAB_KEY=YOUR_KEY" in done.err
    assert "the keyring is locked" in done.err
    assert "the keyring is locked" in (sources()["LAB_KEY"] or "")
    # What needs no key goes on.
    assert pnyx("runs").code == 0


@pytest.mark.usefixtures("memory", "keyless")
@pytest.mark.parametrize(
    ("name", "key", "problem"),
    [
        ("lab", "", "a key has no spaces or line breaks, and is not empty"),
        ("lab", "two words", "a key has no spaces"),
        ("no such", STORED, "no provider 'no such'"),
        ("ollama", STORED, "provider ollama sends no key"),
        (STORED, STORED, "no provider of this name; give a provider, or a variable such as OPENAI_API_KEY"),
        ("opnai", STORED, "no provider 'opnai'; did you mean openai?"),
    ],
)
def test_what_cannot_be_a_key_is_refused(name: str, key: str, problem: str) -> None:
    done = pnyx("keys", "set", name, stdin=key.encode())
    assert done.code == 2
    assert problem in done.err
    assert STORED not in done.err


def test_a_key_on_the_command_line_is_not_repeated() -> None:
    done = pnyx("keys", "set", "OPENAI_API_KEY", STORED)
    assert done.code == 2
    assert "type pnyx keys set NAME, and the key is asked for" in done.err
    assert STORED not in done.err
