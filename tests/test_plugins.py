"""Plugins are known by name without being imported, and one that cannot be used affects no other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pnyx.errors import ConfigError, NotFound
from pnyx.plugins import Plugins
from tests.support.packages import Install, installing

GROUP = "pnyx.tests"


def number(name: str, found: object) -> int:
    if not isinstance(found, int):
        raise ValueError("is not a number")
    return found


NUMBERS = Plugins(GROUP, "number", number)


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    with installing(tmp_path / "site") as install:
        yield install


def test_names_are_known_without_an_import(install: Install) -> None:
    assert NUMBERS.names() == ()
    install("two", GROUP, "two = plugin_two:N", "N = 2")
    install("one", GROUP, "one = plugin_one:N", "N = 1")
    assert NUMBERS.names() == ("one", "two")
    assert not {"plugin_one", "plugin_two"} & set(sys.modules)
    assert (NUMBERS.get("two"), "plugin_one" in sys.modules) == (2, False)


def test_an_unknown_name_is_reported_with_the_installed_ones(install: Install) -> None:
    with pytest.raises(NotFound, match=r"^no number 'three'; installed: none$"):
        NUMBERS.get("three")
    install("two", GROUP, "two = plugin_two:N", "N = 2")
    with pytest.raises(NotFound, match=r"^no number 'three'; installed: two$"):
        NUMBERS.get("three")
    assert NUMBERS.find("three") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise ImportError('kaput')", "does not load: kaput"),
        ("raise SystemExit('kaput')", "does not load: kaput"),
        ("M = 1", "does not load: module 'ailing_n' has no attribute 'N'"),
        ("N = 'text'", "is not a number"),
    ],
)
def test_one_that_cannot_be_used_is_reported_and_hides_no_other(
    install: Install, text: str, reason: str
) -> None:
    install("ailing-package", GROUP, "ailing = ailing_n:N", text)
    install("two", GROUP, "two = plugin_two:N", "N = 2")
    assert NUMBERS.loaded() == (2,)
    assert NUMBERS.find("ailing") is None
    assert {name: str(error) for name, error in NUMBERS.broken().items()} == {
        "ailing": f"number 'ailing' (ailing_n:N, of ailing-package) {reason}"
    }


def test_one_that_does_not_load_is_tried_once(install: Install, tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    text = f"with open({str(tries)!r}, 'a') as file:\n    file.write('x')\nraise ImportError('kaput')"
    install("ailing-package", GROUP, "ailing = ailing_n:N", text)
    for _ in range(3):
        with pytest.raises(ConfigError, match="kaput"):
            NUMBERS.get("ailing")
    assert tries.read_text() == "x"


def test_one_that_lacked_a_descriptor_loads_later(install: Install, tmp_path: Path) -> None:
    install(
        "acme-late",
        GROUP,
        "late = acme_late:NUMBER",
        f"import errno, pathlib\nif not pathlib.Path({str(tmp_path / 'free')!r}).exists():\n"
        "    raise OSError(errno.EMFILE, 'Too many open files')\nNUMBER = 7",
    )
    assert "Too many open files" in str(NUMBERS.broken()["late"])
    (tmp_path / "free").touch()
    assert NUMBERS.get("late") == 7


def test_a_name_that_two_packages_register_is_used_for_neither(install: Install) -> None:
    install("first", GROUP, "two = plugin_a:N", "N = 2")
    install("second", GROUP, "two = plugin_b:N", "N = 3")
    with pytest.raises(ConfigError, match=r"is registered by (first or second|second or first); uninstall"):
        NUMBERS.get("two")
    assert not {"plugin_a", "plugin_b"} & set(sys.modules)
