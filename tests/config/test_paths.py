"""Impossible paths, URLs and numbers are reported as problems of the settings, with key or variable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pnyx.config.credentials import database_secrets
from pnyx.config.describe import describe
from pnyx.config.load import load
from pnyx.config.paths import models_dir
from pnyx.config.schema import Settings
from pnyx.config.trust import trust
from pnyx.errors import ConfigError
from tests.support.settings_messages import without_lines

NO_HOME = "must not begin with ~ and the name of a user without a home folder"


def load_text(folder: Path, text: str = "", **env: str) -> Settings:
    (folder / "settings.toml").write_text(text)
    return load(
        env={"HOME": str(folder), "PNYX_CONFIG": "settings.toml", **env}, cwd=folder, protocol_names=()
    )


def problems(folder: Path, text: str = "", **env: str) -> set[str]:
    with pytest.raises(ConfigError) as caught:
        load_text(folder, text, **env)
    first, *more = without_lines(str(caught.value)).split("\n  - ")
    return set(more or [first])


def test_all_unknown_home_folders_are_reported_together(tmp_path: Path) -> None:
    text = '[tools.file_read]\nroots = [".", "~nobody-here/x"]\n[run]\nretries = -1'
    assert problems(tmp_path, text, PNYX_DATABASE="~nobody-here/x.db", PNYX_MODELS="~nobody-here") == {
        f"storage.url in $PNYX_DATABASE {NO_HOME}",
        f"$PNYX_MODELS {NO_HOME}",
        f"tools.file_read.roots[1] in settings.toml {NO_HOME}",
        "run.retries in settings.toml must be at least 0, not -1",
    }
    assert problems(tmp_path, PNYX_CONFIG="~nobody-here/x") == {f"$PNYX_CONFIG {NO_HOME}"}
    with pytest.raises(ConfigError, match=r"^\$PNYX_MODELS must not"):
        models_dir({"PNYX_MODELS": "~nobody-here"})


def test_a_nul_in_any_path_is_reported(tmp_path: Path) -> None:
    text = '[storage]\nurl = "a\\u0000b"\n[tools.file_read]\nroots = ["~\\u0000"]'
    assert problems(tmp_path, text, PNYX_MODELS="a\0") == {
        "storage.url in settings.toml must not contain a NUL character",
        "tools.file_read.roots[0] in settings.toml must not contain a NUL character",
        "$PNYX_MODELS must not contain a NUL character",
    }
    assert problems(tmp_path, PNYX_CONFIG="a\0") == {"$PNYX_CONFIG must not contain a NUL character"}


def test_a_user_without_a_home_folder_must_set_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "~")  # as if the system had no user with this id
    with pytest.raises(ConfigError, match="this user has no home folder: set HOME"):
        load(env={}, cwd=tmp_path, protocol_names=())


def test_the_home_folder_replaces_the_tilde(tmp_path: Path) -> None:
    home = Path("~").expanduser()
    assert load_text(tmp_path, PNYX_DATABASE="~/x.db").storage.url == str(home / "x.db")
    assert models_dir({"PNYX_MODELS": "~/models"}) == home / "models"


@pytest.mark.parametrize(
    "number", ["9" * 5000, "-" + "9" * 5000, "0x" + "f" * 5000, "[[0b1" + "1" * 20000 + "]]"]
)
def test_a_number_with_too_many_digits_is_a_problem_of_the_file(tmp_path: Path, number: str) -> None:
    assert problems(tmp_path, f"[budget]\nrun_usd = {number}") == {
        "settings.toml contains a number with too many digits"
    }
    (tmp_path / "pnyx.toml").write_text(f"[budget]\nrun_usd = {number}")
    with pytest.raises(ConfigError, match=r"pnyx\.toml contains a number with too many digits"):
        trust(tmp_path, env={"HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("url", "required"),
    [
        ("postgresql://u:p@ss:planted@host/db", "must be postgresql://USER:PASSWORD@HOST:PORT/NAME"),
        ("postgresql://u:planted@host:99999/db", "must have a port"),
        ("postgresql://u:planted@host/db?foo=bar", "has unknown parameters: foo; there are: host, port"),
        ("sqlite:///:memory:", "must name a file"),
        (":memory:", "must name a file"),
    ],
)
def test_the_url_of_the_database_is_checked_with_the_settings(
    tmp_path: Path, url: str, required: str
) -> None:
    for (line,) in (
        problems(tmp_path, PNYX_DATABASE=url),
        problems(tmp_path, f"[storage]\nurl = {json.dumps(url)}"),
    ):
        assert line.startswith(
            ("storage.url in $PNYX_DATABASE " + required, "storage.url in settings.toml " + required)
        )
        assert "planted" not in line


def test_passwords_with_special_characters_are_masked(tmp_path: Path) -> None:
    url = "postgres://me:plan/ted?@host/db?sslpassword=plan"
    shown = {s.key: s.value for s in describe(load_text(tmp_path, PNYX_DATABASE=url))}
    assert shown["storage.url"] == "postgres://me:[redacted]@host/db?sslpassword=[redacted]"


def test_no_part_of_a_path_counts_as_a_password() -> None:
    assert database_secrets("sqlite:////srv/a:b@c.db") == database_secrets("/srv/x://a:b@c.db") == ()
