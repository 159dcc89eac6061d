"""Kinds of providers that packages install: found by name, configured by their rules, opened when used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from pnyx.config.schema import OWN, ProviderSettings, Settings
from pnyx.errors import ConfigError, ProviderError
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.providers.base import Call, Message, ensure_open
from pnyx.providers.catalogue import Catalogue
from pnyx.providers.default_panel import default_panel
from pnyx.providers.installed import KINDS, configure, is_usable, key_variables, list_models, problems
from pnyx.providers.kind import ProviderConfig, ProviderKind, Setting
from pnyx.providers.registry import Providers
from tests.support.packages import Install, installing

BUILT_IN = (*("anthropic", "deepseek", "embedded", "google", "mistral", "ollama", "openai", "openrouter"),)
GROUP = "pnyx.providers"
CALL = Call("alpha", (Message("user", "hello"),), max_tokens=20)
KEY = "planted-key-of-acme"
ACME = """
import pnyx

class Acme:
    def __init__(self, config):
        self.config, self.closed = config, 0

    async def complete(self, call):
        return f"{call.model} at {self.config.base_url} with {self.config.api_key}"

    async def close(self):
        self.closed += 1

OPENED = []

def open(config):
    OPENED.append(Acme(config))
    return OPENED[-1]

ACME = pnyx.ProviderKind(
    name="acme", open=open, base_url="http://127.0.0.1:9/acme/", key_variables=("ACME_KEY",), %s
)
"""


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    with installing(tmp_path / "site") as install:
        yield install


@pytest.fixture
def acme(install: Install) -> None:
    install("acme", GROUP, "acme = acme_kind:ACME", ACME % "")


def provider(**fields: Any) -> Settings:
    return Settings(providers={"lab": ProviderSettings.model_validate(fields)})


async def ask(settings: Settings, env: dict[str, str], name: str = "lab") -> str:
    providers = Providers(settings, env)
    try:
        return (await providers.get(name).complete(CALL)).text
    finally:
        await providers.close()


def test_pnyxs_own_kinds_are_installed_as_those_of_other_packages_are() -> None:
    assert KINDS.names() == BUILT_IN
    assert [kind.name for kind in KINDS.loaded()] == list(BUILT_IN)
    assert KINDS.broken() == {}


def test_every_setting_of_a_kind_is_a_key_of_the_provider_s_table() -> None:
    assert set(get_args(Setting)) < set(ProviderSettings.model_fields)


def test_no_kind_loads_an_sdk_or_a_model_runtime_until_it_opens_a_provider() -> None:
    code = (
        "import sys\n"
        "from pnyx.providers.installed import KINDS\n"
        "assert KINDS.loaded()\n"
        "heavy = {'pydantic_ai', 'openai', 'httpx2', 'aiohttp', 'xllamacpp', 'genai_prices', 'sqlalchemy'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)\n"
    )
    paths = os.pathsep.join(filter(None, sys.path))
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": paths})


@pytest.mark.usefixtures("acme")
async def test_an_installed_kind_is_a_provider_without_any_configuration() -> None:
    text = await ask(Settings(), {"ACME_KEY": f" {KEY}\n"}, "acme")
    assert text == f"alpha at http://127.0.0.1:9/acme with {KEY}"
    import acme_kind  # type: ignore[import-not-found]

    assert [one.closed for one in acme_kind.OPENED] == [1]


@pytest.mark.usefixtures("acme")
async def test_its_key_is_read_for_its_own_address_only() -> None:
    env = {"ACME_KEY": KEY, "LAB_KEY": "key-of-the-lab"}
    lab = "http://127.0.0.1:8/lab"
    assert (await ask(provider(kind="acme", base_url=lab), env)).endswith(f"at {lab} with None")
    configured = provider(kind="acme", base_url=lab, api_key_env="LAB_KEY")
    assert (await ask(configured, env)).endswith(f"at {lab} with key-of-the-lab")
    own = provider(kind="acme", base_url="http://127.0.0.1:9/other")
    assert (await ask(own, env)).endswith(f"with {KEY}")
    secure = provider(kind="openai", base_url="http://api.openai.com/v1")
    assert key_variables(secure.providers["lab"]) == ()


@pytest.mark.usefixtures("acme")
def test_a_missing_key_is_named_and_the_provider_is_in_no_default_panel() -> None:
    with pytest.raises(
        ConfigError,
        match=r"^provider acme needs its key in \$ACME_KEY\. Set it with: export ACME_KEY=YOUR_KEY "
        r"\(or store it: pnyx keys set ACME_KEY\)$",
    ):
        Providers(Settings(), {}).get("acme")
    settings = Settings.model_validate({"providers": {"lab": {"kind": "acme"}}, "models": {"lab:a": {}}})
    assert not is_usable(settings.providers["lab"], {})
    with pytest.raises(ConfigError, match=r"\$ACME_KEY \(lab\)"):
        default_panel(settings, {})
    assert default_panel(settings, {"ACME_KEY": KEY}).refs == ("lab:a",) * 3


@pytest.mark.usefixtures("acme")
def test_its_key_is_masked_though_no_settings_name_it() -> None:
    providers = Providers(Settings(), {"ACME_KEY": KEY})
    assert (providers.redact(KEY), providers.redact_replies(KEY)) == ("[redacted]", "[redacted]")
    assert KEY not in repr(configure("acme", ProviderSettings(kind="acme"), {"ACME_KEY": KEY}))


@pytest.mark.parametrize(
    ("fields", "price"),
    [("free=True", 0.0), ("prices='openai'", 1.25), ("prices='no-such-host'", None), ("", None)],
)
def test_its_tokens_cost_what_it_declares(install: Install, fields: str, price: float | None) -> None:
    install("acme", GROUP, "acme = acme_kind:ACME", ACME % fields)
    info = Catalogue(Settings()).describe("acme:gpt-5")
    assert (info.price and info.price.input) == price
    elsewhere = provider(kind="acme", base_url="http://127.0.0.1:8")
    price_elsewhere = Catalogue(elsewhere).describe("lab:gpt-5").price
    assert (price_elsewhere is not None) == (fields == "free=True")


async def test_a_class_is_a_provider_without_settings(install: Install) -> None:
    text = "class Echo:\n    async def complete(self, call):\n        return call.prompt.upper()\n"
    install("echo", GROUP, "echo = echo_class:Echo", text)
    assert await ask(Settings(), {}, "echo") == "HELLO"
    with pytest.raises(ConfigError, match="provider lab is of kind echo, which does not have: api_key_env"):
        Providers(provider(kind="echo", api_key_env="X"), {"X": KEY}).get("lab")


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ('kind = "embedded"\nbase_url = "http://h"', "is of kind embedded, which does not have: base_url"),
        ('kind = "openai"\nthreads = 2', "is of kind openai, which does not have: threads"),
        ('kind = "own"\napi_key_env = "X"', "is of kind own, which does not have: api_key_env"),
        ('kind = "bare"', "needs base_url: the kind bare has no address of its own"),
    ],
)
def test_settings_that_a_kind_does_not_have_or_lacks_are_named(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, problem: str
) -> None:
    text = 'import pnyx\nBARE = pnyx.ProviderKind(name="bare", open=lambda config: None)\n'
    install("bare", GROUP, "bare = bare_kind:BARE", text)
    (tmp_path / "lab.toml").write_text(f"[providers.lab]\n{table}\n")
    monkeypatch.setenv("PNYX_CONFIG", str(tmp_path / "lab.toml"))
    with pytest.raises(ConfigError) as caught:
        open_settings()
    assert str(caught.value) == f"providers.lab in {tmp_path / 'lab.toml'}:2 {problem}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise ImportError('kaput')", "does not load: kaput"),
        ("raise SystemExit(3)", "does not load: 3"),
        ("ACME = 'openai'", "is neither a pnyx.ProviderKind nor a class with a method `complete`"),
        (
            "import pnyx\nACME = pnyx.ProviderKind(name='other', open=print)",
            "has the name 'other'; its entry point must have the same",
        ),
        (
            "import pnyx\nACME = pnyx.ProviderKind(name='acme', open=print, key_variables=('K',))",
            "does not load: key_variables of a ProviderKind require base_url, the address they are sent to",
        ),
    ],
)
async def test_a_kind_that_cannot_be_used_affects_only_its_own_providers(
    install: Install, text: str, reason: str
) -> None:
    install("ailing", GROUP, "acme = acme_kind:ACME", text)
    assert tuple(kind.name for kind in KINDS.loaded()) == BUILT_IN
    settings = Settings.model_validate(
        {"providers": {"lab": {"kind": "acme", "threads": 2}}, "models": {"lab:a": {}, "ollama:b": {}}}
    )
    assert list(problems(settings)) == []
    assert not is_usable(settings.providers["lab"], {})
    assert Catalogue(settings).describe("lab:a").price is None
    alone = Settings(providers={"lab": ProviderSettings(kind="acme")})
    with pytest.raises(ConfigError, match="the kinds of lab cannot be used; run pnyx doctor"):
        default_panel(alone, {})
    providers = Providers(settings, {"OPENAI_API_KEY": KEY})
    providers.get("openai")
    with pytest.raises(ConfigError) as caught:
        providers.get("lab")
    assert str(caught.value) == f"provider kind 'acme' (acme_kind:ACME, of ailing) {reason}"


@pytest.mark.parametrize("body", ["raise SystemExit('kaput')", "raise OSError('kaput')", "return 3"])
async def test_opening_that_fails_in_any_way_is_an_error_of_that_provider(
    install: Install, body: str
) -> None:
    text = (
        f"import pnyx\ndef open(config):\n    {body}\n"
        "BARE = pnyx.ProviderKind(name='bare', open=open, settings=())\n"
    )
    install("bare", GROUP, "bare = bare_kind:BARE", text)
    providers = Providers(Settings(), {})
    with pytest.raises(ProviderError, match=r"kaput|int is not a provider") as caught:
        await ensure_open(providers.get("bare"))
    assert caught.value.kind == "malformed"
    await providers.close()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "Acme"}, "the name of a ProviderKind has only a-z"),
        ({"settings": ("region",)}, "not 'region'"),
        ({"base_url": "acme.example"}, "is an http or https address, not 'acme.example'"),
        ({"key_variables": ("K",)}, "require base_url"),
    ],
)
def test_a_kind_that_no_configuration_could_use_cannot_be_made(fields: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ProviderKind(**{"name": "acme", "open": lambda config: config, **fields})


async def test_what_a_kind_s_list_of_models_does_wrong_is_a_provider_error() -> None:
    async def fails(config: ProviderConfig) -> Any:
        raise KeyError("models")

    async def odd(config: ProviderConfig) -> Any:
        return [3]

    async def fine(config: ProviderConfig) -> list[str]:
        return ["a", "b", "a"]

    def kind(request: Any) -> ProviderKind:
        return ProviderKind(name="acme", open=lambda config: fine, list_models=request)  # type: ignore[arg-type, return-value]

    config = ProviderConfig("acme")
    for request in (fails, odd):
        with pytest.raises(ProviderError):
            await list_models(kind(request), config)
    assert await list_models(kind(fine), config) == frozenset("ab")
    assert await list_models(kind(None), config) is None


def test_own_is_no_kind_that_a_package_installs(install: Install) -> None:
    assert OWN not in KINDS.names()
    assert key_variables(ProviderSettings(kind=OWN)) == ()
    assert is_usable(ProviderSettings(kind=OWN), {})
