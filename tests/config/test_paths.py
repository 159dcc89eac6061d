"""Paths, addresses and numbers that cannot be are told as wrong settings, with the key or the variable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pnyx.config.credentials import database_secrets
from pnyx.config.load import describe, load
from pnyx.config.paths import models_dir
from pnyx.config.schema import Settings
from pnyx.config.trust import trust
from pnyx.errors import ConfigError

NO_HOME = "must not begin with ~ and a name that has no home folder here"


def given(folder: Path, text: str = "", **env: str) -> Settings:
    (folder / "given.toml").write_text(text)
    return load(env={"HOME": str(folder), "PNYX_CONFIG": "given.toml", **env}, cwd=folder, protocol_names=())


def told(folder: Path, text: str = "", **env: str) -> set[str]:
    with pytest.raises(ConfigError) as caught:
        given(folder, text, **env)
    first, *more = str(caught.value).split("\n  - ")
    return set(more or [first])


def test_homes_that_are_nobodys_are_told_all_at_once(tmp_path: Path) -> None:
    text = '[tools.file_read]\nroots = [".", "~nobody-here/x"]\n[run]\nretries = -1'
    assert told(tmp_path, text, PNYX_DATABASE="~nobody-here/x.db", PNYX_MODELS="~nobody-here") == {
        f"storage.url in $PNYX_DATABASE {NO_HOME}",
        f"$PNYX_MODELS {NO_HOME}",
        f"tools.file_read.roots[1] in given.toml {NO_HOME}",
        "run.retries in given.toml must be at least 0, not -1",
    }
    assert told(tmp_path, PNYX_CONFIG="~nobody-here/x") == {f"$PNYX_CONFIG {NO_HOME}"}
    with pytest.raises(ConfigError, match=r"^\$PNYX_MODELS must not"):
        models_dir({"PNYX_MODELS": "~nobody-here"})


def test_a_nul_is_told_wherever_a_path_is_meant(tmp_path: Path) -> None:
    text = '[storage]\nurl = "a\\u0000b"\n[tools.file_read]\nroots = ["~\\u0000"]'
    assert told(tmp_path, text, PNYX_MODELS="a\0") == {
        "storage.url in given.toml must be without NUL",
        "tools.file_read.roots[0] in given.toml must be without NUL",
        "$PNYX_MODELS must be without NUL",
    }
    assert told(tmp_path, PNYX_CONFIG="a\0") == {"$PNYX_CONFIG must be without NUL"}


def test_a_user_without_a_home_is_told_to_set_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "~")  # as where the system knows no user of this number
    with pytest.raises(ConfigError, match="this user has no home folder: set HOME"):
        load(env={}, cwd=tmp_path, protocol_names=())


def test_the_home_of_ones_own_is_filled_in(tmp_path: Path) -> None:
    home = Path("~").expanduser()
    assert given(tmp_path, PNYX_DATABASE="~/x.db").storage.url == str(home / "x.db")
    assert models_dir({"PNYX_MODELS": "~/models"}) == home / "models"


@pytest.mark.parametrize(
    "number", ["9" * 5000, "-" + "9" * 5000, "0x" + "f" * 5000, "[[0b1" + "1" * 20000 + "]]"]
)
def test_a_number_of_too_many_digits_is_told_as_the_files_fault(tmp_path: Path, number: str) -> None:
    assert told(tmp_path, f"[budget]\nrun_usd = {number}") == {"given.toml holds a number of too many digits"}
    (tmp_path / "pnyx.toml").write_text(f"[budget]\nrun_usd = {number}")
    with pytest.raises(ConfigError, match=r"pnyx\.toml holds a number of too many digits"):
        trust(tmp_path, env={"HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("postgresql://u:p@ss:planted@host/db", "must be postgresql://USER:PASSWORD@HOST:PORT/NAME"),
        ("postgresql://u:planted@host:99999/db", "must have a port"),
        ("postgresql://u:planted@host/db?foo=bar", "has unknown parameters: foo; there are: host, port"),
        ("sqlite:///:memory:", "must name a file"),
        (":memory:", "must name a file"),
    ],
)
def test_the_address_of_a_database_is_checked_with_the_settings(
    tmp_path: Path, url: str, wanted: str
) -> None:
    for (line,) in (
        told(tmp_path, PNYX_DATABASE=url),
        told(tmp_path, f"[storage]\nurl = {json.dumps(url)}"),
    ):
        assert line.startswith(
            ("storage.url in $PNYX_DATABASE " + wanted, "storage.url in given.toml " + wanted)
        )
        assert "planted" not in line


def test_passwords_are_masked_whatever_stands_in_them(tmp_path: Path) -> None:
    url = "postgres://me:plan/ted?@host/db?sslpassword=plan"
    shown = {s.key: s.value for s in describe(given(tmp_path, PNYX_DATABASE=url))}
    assert shown["storage.url"] == "postgres://me:[redacted]@host/db?sslpassword=[redacted]"


def test_no_part_of_a_path_is_taken_for_a_password() -> None:
    assert database_secrets("sqlite:////srv/a:b@c.db") == database_secrets("/srv/x://a:b@c.db") == ()
