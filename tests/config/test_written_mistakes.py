"""Mistakes in settings files as a person makes them: the message says what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from pnyx.errors import ConfigError
from pnyx.interfaces.process.open_settings import open_settings

HOST = '[providers.lab]\nkind = "openai"\nbase_url = "{}"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[models.lab:alpha]\ninput_price = 1\n", '; write [models."lab:alpha"]'),
        ("[models.lab:org/alpha-2.5]\ninput_price = 1\n", '; write [models."lab:org/alpha-2.5"]'),
        ("[models.alpha]\ninput_price = 1\noutput_price = 1\n" + HOST.format("http://x/v1"), '"lab:alpha"]'),
        ('[panel]\nseats = "lab:alpha"\n', "must be a list, not 'lab:alpha'; write [\"lab:alpha\"]"),
        (HOST.format("127.0.0.1:9000/v1"), "must start with http:// or https://"),
        (HOST.format("https://x/v1/chat/completions"), "without /chat/completions, which pnyx adds"),
        (HOST.format("http://x:8080/generate"), "/generate is one of the server's own"),
        (HOST.format("http://x:11434/api/chat"), "an address that ends with /v1"),
        (HOST.format("https://x/v1/messages/"), "without /messages/, which pnyx adds"),
    ],
)
def test_what_to_write_is_said(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wrong.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_CONFIG", "wrong.toml")
    with pytest.raises(ConfigError) as caught:
        open_settings()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ['[run]\nprotocol = "votng"\n', "[consensus]\nround = 3\n"])
def test_saved_panels_do_not_repeat_what_is_wrong_with_the_default(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = '[panels.fast]\nseats = ["lab:alpha*3"]\n' + HOST.format("http://x/v1")
    (tmp_path / "wrong.toml").write_text(text + panel)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_CONFIG", "wrong.toml")
    with pytest.raises(ConfigError) as caught:
        open_settings(panel=True)
    assert "did you mean" in str(caught.value)
    assert "panels.fast" not in str(caught.value)
