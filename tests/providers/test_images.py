"""Which models read images, and how each kind of host gets them."""

from __future__ import annotations

import base64
import json

import pytest

from pnyx.config.schema import ModelSettings, Settings
from pnyx.providers.base import Call, Image, Message
from pnyx.providers.catalogue import FAST, STRONG, Catalogue, seats
from pnyx.providers.hosted.dialects import DIALECTS
from pnyx.providers.hosted.requests import RequestBuilder
from pnyx.providers.images import image_factor, reads_images
from tests.support.hosting import ask, open_provider
from tests.support.rows import rows
from tests.support.scripted import ScriptedHost

PICTURE = b"\x89PNG not really"
TURNS = (
    Message("system", "You sit on a panel."),
    Message("user", "What is it?", images=(Image("image/png", PICTURE),), breaks=(4,)),
)
READ = (
    *("gpt-4o", "gpt-4o-mini-2024-07-18", "openai/gpt-4.1-nano", "gpt-5.2", "o3", "o4-mini", "gpt-4-turbo"),
    *("claude-3-haiku-20240307", "claude-sonnet-4-6", "anthropic/claude-opus-5.5", "claude-haiku-4-5"),
    *("gemini-2.5-flash-lite", "google/gemini-3.8-flash", "gemma-3-27b-it", "gemma3:4b", "pixtral-12b"),
    *(
        "mistral-small-2603",
        "llama-4-scout",
        "llama3.2-vision:11b",
        "qwen2.5-vl-72b",
        "qwen2.5vl:7b",
        "llava:13b",
    ),
    *("meta-llama/llama-3.2-90b-vision-instruct", "grok-4", "llava:13b", "Qwen/Qwen3-VL-8B-Instruct"),
)
BLIND = (
    *("gpt-3.5-turbo", "gpt-4", "gpt-4-0613", "o1-mini", "o3-mini", "gpt-4o-audio-preview", "gpt-oss-120b"),
    *(
        "claude-2.1",
        "deepseek-v4-pro",
        "deepseek-chat",
        "mistral-7b",
        "mixtral-8x7b",
        "llama-3.3-70b",
        "qwen3:8b",
    ),
    *("llama3.2:3b", "gemma2:9b", "gemma3:1b", "grok-3", "command-r", "phi-4", "alpha", "qwen3:8b"),
)


@rows("model", READ)
def test_models_that_read_images_are_known(model: str) -> None:
    assert reads_images(model)


@rows("model", BLIND)
def test_other_models_get_no_images(model: str) -> None:
    assert not reads_images(model)


def test_the_default_panel_reads_images_but_for_deepseek() -> None:
    models = {(kind, model) for table in (STRONG, FAST) for kind, names in table.items() for model in names}
    assert {kind for kind, model in models if not reads_images(model)} == {"deepseek"}


def test_settings_say_it_for_any_model() -> None:
    models = {"openai:gpt-4o": ModelSettings(images=False), "openai:mine": ModelSettings(images=True)}
    panel = seats(Catalogue(Settings(models=models)), ["openai:gpt-4o", "openai:mine", "openai:gpt-5"])
    assert [seat.images for seat in panel] == [False, True, True]


def test_embedded_models_read_none_whatever_their_name() -> None:
    assert not Catalogue(Settings()).describe("embedded:smollm2-135m").images


def test_a_host_that_counts_more_tokens_for_an_image_is_known() -> None:
    assert image_factor("gpt-4o-mini") > 20
    assert image_factor("openai/gpt-4o-mini-2024-07-18") > 20
    assert image_factor("gpt-4o") == 1


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("openai", "gpt-4o"),
        ("anthropic", "claude-sonnet-4-6"),
        ("google", "gemini-2.5-flash"),
        ("mistral", "mistral-large-latest"),
    ],
)
async def test_every_kind_of_host_gets_the_image_before_the_text(kind: str, model: str) -> None:
    builder = RequestBuilder(DIALECTS[kind], "http://127.0.0.1:9", None)
    body = (await builder.build(Call(model, TURNS, 100), stream=False)).body
    await builder.close()
    sent = json.dumps(body.get("contents") or body["messages"][-1])
    data = base64.b64encode(PICTURE).decode()
    assert sent.count(data) == 1
    assert "image/png" in sent
    assert sent.index(data) < sent.index("What")
    assert ("cache_control" in sent) == (kind == "anthropic")


async def test_an_image_is_sent_and_a_text_alone_stays_a_text(host: ScriptedHost) -> None:
    async with open_provider("openai", host) as provider:
        await ask(provider, "gpt-4o", messages=TURNS)
        await ask(provider, "gpt-4o", messages=(Message("user", "What is it?"),))
    first, second = (request.body["messages"][-1]["content"] for request in host.log)
    assert base64.b64encode(PICTURE).decode() in json.dumps(first)
    assert second == "What is it?"
