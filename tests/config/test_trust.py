"""A project file sets nothing dangerous until its folder is trusted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pnyx.config.load import load
from pnyx.config.project_rules import RESTRICTED
from pnyx.config.schema import Settings
from pnyx.config.trust import trust
from pnyx.errors import ConfigError
from tests.support.settings_messages import without_lines

LAB = '[providers.lab]\nkind = "openai"\nbase_url = "http://127.0.0.1:9000/v1"\n'
HARMLESS = '[panel]\nseats = ["embedded:x"]\n[run]\nretries = 1\n[consensus]\nkind = "factual"\n'


@pytest.fixture
def env(tmp_path: Path) -> Mapping[str, str]:
    return {"HOME": str(tmp_path / "home")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def put(folder: Path, text: str) -> None:
    (folder / "pnyx.toml").write_text(text)


def read(folder: Path, env: Mapping[str, str]) -> Settings:
    return load(env=env, cwd=folder, protocol_names=["consensus"])


def refused(folder: Path, env: Mapping[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        read(folder, env)
    return without_lines(str(caught.value))


def test_harmless_sections_need_no_trust(folder: Path, env: Mapping[str, str]) -> None:
    put(folder, HARMLESS)
    assert read(folder, env).panel.seats == ("embedded:x",)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (LAB, "providers.lab.base_url, providers.lab.kind"),
        ("[budget]\nrun_usd = 100.0", "budget.run_usd"),
        ("[budget]\nallow_unknown_price = true", "budget.allow_unknown_price"),
        ('[models."openai:x"]\ninput_price = 0\noutput_price = 0', 'models."openai:x".input_price'),
        ('[storage]\nurl = "postgresql://elsewhere/db"', "storage.url"),
        ("[providers.openai]", "providers.openai"),
    ],
)
def test_other_sections_are_refused_until_the_folder_is_trusted(
    folder: Path, env: Mapping[str, str], text: str, key: str
) -> None:
    put(folder, HARMLESS + text)
    message = refused(folder, env)
    assert message.startswith(f"pnyx.toml sets {key}")
    assert message.endswith("read the file, then run `pnyx trust`")
    trust(folder, env=env)
    if text != "[providers.openai]":  # lacks its kind
        read(folder, env)


def test_every_section_but_panels_and_run_is_restricted() -> None:
    assert set(RESTRICTED) == set(Settings.model_fields) - {"panel", "panels", "run", "protocols"}


def test_trust_returns_the_keys_that_it_allows(folder: Path, env: Mapping[str, str]) -> None:
    put(folder, HARMLESS + LAB)
    allowed = ("consensus.kind", "panel.seats", "providers.lab.base_url", "providers.lab.kind", "run.retries")
    assert trust(folder, env=env) == allowed


def test_a_changed_restricted_value_needs_trust_again(folder: Path, env: Mapping[str, str]) -> None:
    put(folder, LAB)
    trust(folder, env=env)
    put(folder, LAB.replace("9000", "9001"))
    assert "providers.lab.base_url" in refused(folder, env)
    put(folder, LAB + "[budget]\nrun_usd = 1")
    assert "budget.run_usd" in refused(folder, env)


def test_other_changes_keep_the_trust(folder: Path, env: Mapping[str, str]) -> None:
    put(folder, LAB)
    trust(folder, env=env)
    put(folder, "# a comment\n" + HARMLESS + LAB)
    assert "lab" in read(folder, env).providers


def test_trust_holds_for_the_folder_and_not_for_a_copy(
    folder: Path, env: Mapping[str, str], tmp_path: Path
) -> None:
    put(folder, LAB)
    trust(folder, env=env)
    (tmp_path / "link").symlink_to(folder)
    assert "lab" in read(tmp_path / "link", env).providers
    (tmp_path / "copy").mkdir()
    put(tmp_path / "copy", LAB)
    refused(tmp_path / "copy", env)


def test_a_link_is_trusted_as_the_folder_it_points_to(
    folder: Path, env: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(LAB)
    (tmp_path / "theirs.toml").write_text(LAB.replace("127.0.0.1", "192.0.2.1"))
    (folder / "pnyx.toml").symlink_to(tmp_path / "mine.toml")
    trust(folder, env=env)
    read(folder, env)
    (folder / "pnyx.toml").unlink()
    (folder / "pnyx.toml").symlink_to(tmp_path / "theirs.toml")
    refused(folder, env)


def test_a_file_named_by_the_user_is_trusted(folder: Path, env: Mapping[str, str]) -> None:
    put(folder, LAB)
    assert "lab" in read(folder, {**env, "PNYX_CONFIG": str(folder / "pnyx.toml")}).providers


def test_untrusted_keys_do_not_hide_other_problems(folder: Path, env: Mapping[str, str]) -> None:
    put(folder, LAB + "[run]\nseeed = 1")
    message = refused(folder, env)
    assert "pnyx trust" in message
    assert "unknown key run.seeed in pnyx.toml; did you mean seed?" in message


def test_only_the_owner_can_read_the_list_and_other_folders_stay_in_it(
    folder: Path, env: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    for place in (folder, tmp_path / "other"):
        put(place, LAB)
        trust(place, env=env)
    store = tmp_path / "home" / ".local" / "share" / "pnyx" / "trust.json"
    assert store.stat().st_mode & 0o777 == 0o600
    assert store.parent.stat().st_mode & 0o777 == 0o700
    assert set(json.loads(store.read_text())) == {str(folder), str(tmp_path / "other")}
    assert os.listdir(store.parent) == ["trust.json"]


@pytest.mark.parametrize("damage", ["", "[]", "{", "\x00", "[" * 5000])
def test_a_damaged_list_is_reported_and_not_changed(
    folder: Path, env: Mapping[str, str], tmp_path: Path, damage: str
) -> None:
    store = tmp_path / "home" / ".local" / "share" / "pnyx" / "trust.json"
    store.parent.mkdir(parents=True)
    store.write_text(damage)
    put(folder, LAB)
    assert str(store) in refused(folder, env)
    with pytest.raises(ConfigError, match="is damaged"):
        trust(folder, env=env)
    assert store.read_text() == damage


def test_a_list_that_cannot_be_written_is_reported(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    put(folder, LAB)
    with pytest.raises(ConfigError, match=r"trust\.json"):
        trust(folder, env={"XDG_DATA_HOME": str(tmp_path / "file")})


def test_trust_without_a_project_file_is_an_error(folder: Path, env: Mapping[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"there is no pnyx\.toml in "):
        trust(folder, env=env)


def test_a_killed_write_leaves_the_old_list(folder: Path, env: Mapping[str, str], tmp_path: Path) -> None:
    put(folder, LAB)
    trust(folder, env=env)
    put(folder, LAB.replace("9000", "9001"))
    killed = (
        "import os, signal, sys, pathlib\n"
        "from pnyx.config.trust import trust\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "trust(pathlib.Path(sys.argv[1]), env=dict(os.environ))\n"
    )
    paths = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run([sys.executable, "-c", killed, str(folder)], env={**env, "PYTHONPATH": paths})
    assert done.returncode == -9
    put(folder, LAB)
    read(folder, env)
