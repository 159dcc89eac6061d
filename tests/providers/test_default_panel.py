"""The panel if none is configured: by the settings, the keys that are set and the installed models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pnyx import extras
from pnyx.config.schema import ModelSettings, ProviderSettings, Settings
from pnyx.errors import ConfigError
from pnyx.providers.catalogue import STRONG
from pnyx.providers.default_panel import DefaultPanel, default_panel
from pnyx.providers.embedded.weights_table import KNOWN


def lab(**more: Any) -> dict[str, ProviderSettings]:
    return {"lab": ProviderSettings(kind="openai", base_url="http://127.0.0.1:9000/v1", **more)}


@pytest.fixture
def home(tmp_path: Path) -> Mapping[str, str]:
    return {"HOME": str(tmp_path), "PNYX_MODELS": str(tmp_path)}


def put(folder: Path, *names: str) -> None:
    """Write sparse files of the right size: `installed` does not read them."""
    for name in names:
        with (folder / f"{name}.gguf").open("wb") as file:
            file.write(b"GGUF")
            file.truncate(KNOWN[name].bytes if name in KNOWN else 4 + len(name))


def test_default_panel_is_a_strong_model_of_every_maker_with_a_key(home: Mapping[str, str]) -> None:
    env = {**home, "ANTHROPIC_API_KEY": "k", "GOOGLE_API_KEY": "k", "MISTRAL_API_KEY": ""}
    assert default_panel(Settings(), env) == DefaultPanel(
        ("anthropic:claude-opus-5-5", "google:gemini-4-argon")
    )


def test_one_model_alone_takes_three_seats(home: Mapping[str, str]) -> None:
    assert default_panel(Settings(), {**home, "OPENAI_API_KEY": "k"}).refs == ("openai:gpt-6.1-sol",) * 3


def test_openrouter_fills_in_the_makers_that_are_missing(home: Mapping[str, str]) -> None:
    alone = default_panel(Settings(), {**home, "OPENROUTER_API_KEY": "k"})
    assert alone.refs == tuple(f"openrouter:{model}" for model in STRONG["openrouter"])
    beside = default_panel(Settings(), {**home, "OPENROUTER_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})
    assert beside.refs == (
        "anthropic:claude-opus-5-5",
        "openrouter:openai/gpt-6.1-sol",
        "openrouter:google/gemini-4-argon",
    )


def test_the_default_panel_uses_no_host_that_only_has_a_makers_name(
    home: Mapping[str, str], tmp_path: Path
) -> None:
    providers = {"openai": ProviderSettings(kind="openai", base_url="http://127.0.0.1:9000/v1")}
    put(tmp_path, "smollm2-135m")
    with pytest.raises(
        ConfigError,
        match=r'name one with "models": \["openai:MODEL"\], or in \[panel\] seats',
    ):
        default_panel(Settings(providers=providers), {**home, "OPENAI_API_KEY": "k"})


NAMED = {name: ModelSettings(context=1000) for name in ("lab:beta", "ollama:x", "lab:alpha", "openai:y")}


def test_default_panel_is_the_models_named_for_configured_providers_beside_the_makers(
    home: Mapping[str, str], tmp_path: Path
) -> None:
    put(tmp_path, "smollm2-135m")
    settings = Settings(providers=lab(api_key_env="LAB_KEY"), models=NAMED)
    env = {**home, "LAB_KEY": "k"}
    assert default_panel(settings, env) == DefaultPanel(("lab:beta", "lab:alpha"))
    beside = default_panel(settings, {**env, "ANTHROPIC_API_KEY": "k"})
    assert beside == DefaultPanel(("lab:beta", "lab:alpha", "anthropic:claude-opus-5-5"))


def test_one_named_model_takes_three_seats_and_its_host_may_need_no_key(home: Mapping[str, str]) -> None:
    settings = Settings(providers=lab(), models={"lab:alpha": ModelSettings()})
    assert default_panel(settings, home).refs == ("lab:alpha",) * 3


def test_default_panel_has_no_more_seats_than_a_panel_may_have(home: Mapping[str, str]) -> None:
    settings = Settings(providers=lab(), models={f"lab:{n}": ModelSettings() for n in range(150)})
    assert default_panel(settings, home).refs == tuple(f"lab:{n}" for n in range(100))


def test_a_configured_provider_without_its_key_gives_no_seat_and_no_way_to_the_embedded_models(
    home: Mapping[str, str], tmp_path: Path
) -> None:
    put(tmp_path, "smollm2-135m")
    settings = Settings(providers=lab(api_key_env="LAB_KEY"), models=NAMED)
    assert default_panel(settings, {**home, "MISTRAL_API_KEY": "k"}).refs == ("mistral:mistral-large-4",) * 3
    with pytest.raises(ConfigError, match=r"key is set; set \$LAB_KEY \(lab\), or name other seats in"):
        default_panel(settings, home)


def test_settings_of_the_embedded_runtime_leave_the_default_panel_as_it_is(
    home: Mapping[str, str], tmp_path: Path
) -> None:
    put(tmp_path, "smollm2-135m", "qwen2.5-coder-0.5b")
    settings = Settings(
        providers={"embedded": ProviderSettings(kind="embedded", threads=1)},
        models={"embedded:smollm2-135m": ModelSettings(temperature=0)},
    )
    assert default_panel(settings, home) == default_panel(Settings(), home)


def test_default_panel_without_keys_is_the_small_embedded_models(
    home: Mapping[str, str], tmp_path: Path
) -> None:
    put(tmp_path, *KNOWN, "mine")
    assert default_panel(Settings(), home) == DefaultPanel(
        ("embedded:smollm2-135m", "embedded:qwen2.5-coder-0.5b"), "quick"
    )


def test_the_default_panel_uses_any_installed_model(home: Mapping[str, str], tmp_path: Path) -> None:
    put(tmp_path, "mine")
    assert default_panel(Settings(), home) == DefaultPanel(("embedded:mine",) * 3, "quick")


def test_without_any_model_the_error_names_the_command_to_type(home: Mapping[str, str]) -> None:
    with pytest.raises(
        ConfigError, match=r"export OPENAI_API_KEY=YOUR_KEY; .* pnyx models pull qwen2.5-coder-0.5b$"
    ):
        default_panel(Settings(), home)


def test_without_the_embedded_runtime_the_error_names_a_key_first(
    home: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "_is_installed", lambda module: False)
    with pytest.raises(ConfigError, match=r"OPENAI_API_KEY=YOUR_KEY; or .* needs the extra 'embedded'"):
        default_panel(Settings(), home)
