"""Providers by name: opened once, at their first call, with the key of their variable and no other."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pnyx.config.schema import ProviderSettings, Settings, StorageSettings
from pnyx.errors import ConfigError, ProviderError
from pnyx.providers.base import Call, Completion, Message, Provider, ensure_open
from pnyx.providers.catalogue import Catalogue
from pnyx.providers.registry import Providers
from tests.support.scripted import ScriptedHost
from tests.support.waiting import STALL_S, until

CALL = Call("alpha", (Message("user", "hello"),), max_tokens=20)
KEY = "planted-key-of-the-lab"
OPEN = "pnyx.providers.embedded.provider.open_embedded"


def lab(host: ScriptedHost, api_key_env: str | None = None) -> Settings:
    provider = ProviderSettings(kind="openai", base_url=host.openai, api_key_env=api_key_env)
    return Settings(providers={"lab": provider})


@dataclass
class Supplied:
    """A provider that a program supplies."""

    closed: bool = False
    calls: list[Call] = field(default_factory=list)

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        self.calls.append(call)
        return Completion("mine")

    async def close(self) -> None:
        self.closed = True


async def ask(settings: Settings, env: Mapping[str, str]) -> Completion:
    providers = Providers(settings, env)
    try:
        return await providers.get("lab").complete(CALL)
    finally:
        await providers.close()


async def test_a_configured_provider_answers_with_the_key_of_its_variable() -> None:
    async with ScriptedHost() as host:
        reply = await ask(lab(host, api_key_env="LAB_KEY"), {"LAB_KEY": f" {KEY}\n"})
        assert reply.text
        assert host.log[0].headers["authorization"] == f"Bearer {KEY}"


async def test_the_makers_key_is_not_sent_to_another_host() -> None:
    async with ScriptedHost() as host:
        await ask(lab(host), {"OPENAI_API_KEY": KEY})
        assert KEY not in str(host.log[0].headers)


async def test_a_provider_is_opened_once_for_many_calls_at_once() -> None:
    async with ScriptedHost() as host:
        providers = Providers(lab(host), {})
        assert providers.get("lab") is providers.get("lab")
        replies = await asyncio.gather(*(providers.get("lab").complete(CALL) for _ in range(5)))
        assert len(replies) == len(host.log) == 5
        await providers.close()
        await until(lambda: not host.connections)


class Slow:
    """A provider that opens after `go`, and whose first caller gives up before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.provider, self.go, self.opened = Supplied(), threading.Event(), 0
        monkeypatch.setattr(OPEN, self.open)
        self.providers = Providers(Settings(), {})

    def open(self, *_: object, **__: object) -> Provider:
        self.opened += 1
        self.go.wait(STALL_S)
        return self.provider

    async def give_up(self) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ensure_open(self.providers.get("embedded")), 0.05)
        self.go.set()


async def test_a_call_that_stops_waiting_for_the_opening_leaves_it_to_the_next_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = Slow(monkeypatch)
    await slow.give_up()
    assert (await slow.providers.get("embedded").complete(CALL)).text == "mine"
    await slow.providers.close()
    assert (slow.opened, slow.provider.closed) == (1, True)


async def test_a_provider_that_is_still_opening_is_closed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch)
    await slow.give_up()
    await slow.providers.close()
    assert slow.provider.closed


async def test_opening_that_failed_is_tried_again_at_the_next_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[OSError | Supplied] = [OSError("no such file"), Supplied()]

    def open_next(*_: object, **__: object) -> Provider:
        if isinstance(next_one := found.pop(0), OSError):
            raise next_one
        return next_one

    monkeypatch.setattr(OPEN, open_next)
    providers = Providers(Settings(), {})
    with pytest.raises(OSError, match="no such file"):
        await providers.get("embedded").complete(CALL)
    assert (await providers.get("embedded").complete(CALL)).text == "mine"
    await providers.close()


async def test_what_could_not_be_opened_is_not_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Provider:
        raise OSError("no such file")

    monkeypatch.setattr(OPEN, fail)
    providers = Providers(Settings(), {})
    with pytest.raises(OSError, match="no such file"):
        await providers.get("embedded").complete(CALL)
    await providers.close()


async def test_tokens_arrive_through_it() -> None:
    async with ScriptedHost() as host:
        providers, pieces = Providers(lab(host), {}), list[str]()
        reply = await providers.get("lab").complete(CALL, pieces.append)
        assert "".join(pieces) == reply.text
        await providers.close()


def test_opening_imports_in_a_thread() -> None:
    code = """
import asyncio, sys, threading
from pnyx.errors import ProviderError
from pnyx.providers.catalogue import Catalogue
from pnyx.providers.registry import Providers
from pnyx.providers.base import Call, Message
from pnyx.config.schema import ProviderSettings, Settings

threads = {}
def note(event, arguments):
    if event == "import":
        threads.setdefault(arguments[0], threading.current_thread())
sys.addaudithook(note)

async def main():
    settings = Settings(providers={"lab": ProviderSettings(kind="mistral", base_url="http://127.0.0.1:9")})
    providers = Providers(settings, {})
    try:
        await providers.get("lab").complete(Call("alpha", (Message("user", "<|hello|>"),), 5))
    except ProviderError:
        pass
    await providers.close()

asyncio.run(main())
for name in ("pnyx.providers.hosted.provider", "pydantic_ai.direct", "mistralai.client"):
    assert threads[name] is not threading.main_thread(), name
"""
    paths = os.pathsep.join(filter(None, sys.path))
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": paths})


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        (
            "openai",
            Settings(),
            r"provider openai needs its key in \$OPENAI_API_KEY\. "
            "Set it with: export OPENAI_API_KEY=YOUR_KEY "
            r"\(or store it: pnyx keys set OPENAI_API_KEY\)",
        ),
        (
            "google",
            Settings(),
            r"provider google needs its key in \$GEMINI_API_KEY or \$GOOGLE_API_KEY\. "
            "Set it with: export GEMINI_API_KEY=YOUR_KEY "
            r"\(or store it: pnyx keys set GEMINI_API_KEY\)",
        ),
        (
            "work",
            Settings(providers={"work": ProviderSettings(kind="openai", api_key_env="WORK_KEY")}),
            r"provider work needs its key in \$WORK_KEY\. Set it with: export WORK_KEY=YOUR_KEY "
            r"\(or store it: pnyx keys set WORK_KEY\)",
        ),
    ],
)
def test_a_missing_key_is_named_before_anything_is_opened(
    name: str, settings: Settings, message: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{message}$"):
        Providers(settings, {"OPENAI_API_KEY": " "}).get(name)


@pytest.mark.parametrize("key", ["planted\nkey", "planted\tkey", "planted key", "plänted", "planted\x00"])
def test_the_variable_of_an_invalid_key_is_named_before_anything_is_opened(key: str) -> None:
    settings = Settings(providers={"work": ProviderSettings(kind="openai", api_key_env="WORK_KEY")})
    with pytest.raises(ConfigError, match=r"^\$WORK_KEY, the key of provider work, contains") as caught:
        Providers(settings, {"WORK_KEY": key}).get("work")
    assert "ted" not in str(caught.value)


def test_an_unknown_provider_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="no provider 'opneai'; did you mean openai"):
        Providers(Settings(), {}).get("opneai")


async def test_built_in_providers_need_no_configuration(tmp_path: Path) -> None:
    providers = Providers(Settings(), {"ANTHROPIC_API_KEY": KEY, "PNYX_MODELS": str(tmp_path)})
    names = ("anthropic", "ollama", "embedded")
    assert len({id(providers.get(name)) for name in names}) == len(names)
    with pytest.raises(ProviderError) as caught:
        await providers.get("embedded").complete(Call("smollm2-135m", (Message("user", "hello"),), 5))
    assert caught.value.kind == "not_found"
    await providers.close()


class Plain:
    """Has the least that a provider needs, and can be closed."""

    closed = False

    async def complete(self, call: Call) -> str:
        return "mine"

    async def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("kind", [Supplied, Plain])
async def test_a_provider_object_of_the_program_comes_first_and_is_not_closed(
    kind: type[Supplied | Plain],
) -> None:
    supplied = kind()
    providers = Providers(Settings(), {}, extra={"openai": supplied})
    assert (providers.get("openai") is supplied) == isinstance(supplied, Supplied)
    assert (await providers.get("openai").complete(CALL)).text == "mine"
    await providers.close()
    assert not supplied.closed


async def test_a_provider_object_of_the_program_is_known_to_the_settings() -> None:
    settings = Settings().with_provider_objects(["mine", "openai"])
    assert (settings.provider("mine").kind, settings.provider("openai").kind) == ("own", "own")
    assert Catalogue(settings).describe("openai:gpt-5").price is None
    reply = await Providers(settings, {}, extra={"mine": Supplied()}).get("mine").complete(CALL)
    assert reply.text == "mine"
    with pytest.raises(ConfigError, match="provider openai is supplied by a program"):
        Providers(settings, {"OPENAI_API_KEY": KEY}).get("openai")


def test_settings_of_a_provider_object_of_the_program_are_kept() -> None:
    configured = ProviderSettings(kind="own", concurrency=2)
    settings = Settings(providers={"mine": configured}).with_provider_objects(["mine"])
    assert settings.provider("mine") == configured


async def test_closing_without_a_call_loads_nothing() -> None:
    providers = Providers(Settings(), {"OPENAI_API_KEY": KEY})
    providers.get("openai")
    await providers.close()
    await providers.close()


async def test_a_provider_answers_again_after_closing() -> None:
    async with ScriptedHost() as host:
        providers = Providers(lab(host), {})
        for _ in range(2):
            assert (await providers.get("lab").complete(CALL)).text
            await providers.close()


def test_secrets_in_use_are_masked() -> None:
    settings = Settings(
        providers={"lab": ProviderSettings(kind="openai", base_url="http://h/v1", api_key_env="LAB_KEY")},
        storage=StorageSettings(url="postgresql://me:planted-pass@host/db"),
    )
    env = {
        "LAB_KEY": KEY,
        "OPENAI_API_KEY": f"{KEY}-and-longer",
        "MISTRAL_API_KEY": "abc",
        "OTHER": "planted",
    }
    redact = Providers(settings, env).redact
    shown = redact(f"Bearer {KEY}-and-longer, {KEY}, abc, planted-pass, planted")
    assert shown == "Bearer [redacted], [redacted], abc, [redacted], planted"


def test_keys_of_search_services_are_masked() -> None:
    search = {"backend": "tavily", "base_url": "http://127.0.0.1:9", "api_key_env": "FIND_KEY"}
    env = {"FIND_KEY": "find-planted-0123456789", "EXA_API_KEY": "exa-planted-0123456789"}
    providers = Providers(Settings.model_validate({"tools": {"web_search": search}}), env)
    for redact in (providers.redact, providers.redact_replies):
        assert redact("find-planted-0123456789, exa-planted-0123456789") == "[redacted], [redacted]"


def test_users_and_passwords_of_proxies_are_masked() -> None:
    env = {
        "HTTPS_PROXY": "http://first-user:planted%2Dpass@proxy:3128",
        "all_proxy": "second-user:pass@word/1@proxy:3128/",
        "HTTP_PROXY": "http://proxy:3128",
    }
    redact = Providers(Settings(), env).redact
    shown = redact("first-user, planted%2Dpass, planted-pass, second-user, pass@word/1, proxy:3128")
    assert shown == ", ".join(["[redacted]"] * 5) + ", proxy:3128"


def test_replies_are_masked_where_they_repeat_a_key_and_nowhere_else() -> None:
    settings = Settings.model_validate({"storage": {"url": "postgresql://ann:postgres@db/pnyx"}})
    env = {"OPENAI_API_KEY": f"{KEY}-and-longer-still", "MISTRAL_API_KEY": "ollama"}
    redact = Providers(settings, env).redact_replies
    assert redact(f"{KEY}-and-longer-still, postgres, ollama") == "[redacted], postgres, ollama"


def test_nothing_is_masked_without_a_secret() -> None:
    assert Providers(Settings(), {"OPENAI_API_KEY": ""}).redact("text") == "text"
