"""The list of models at a host: requested in each dialect, with the key, without a call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pnyx.errors import ProviderError
from pnyx.providers.hosted.kinds import OLLAMA
from pnyx.providers.hosted.listing import list_models
from pnyx.providers.kind import ProviderConfig
from tests.support.hosting import KEY, KINDS, kinds
from tests.support.scripted import ScriptedHost

SHOWN = {"anthropic": ("x-api-key", KEY), "google": ("x-goog-api-key", KEY)}
ENDINGS = {"anthropic": "/v1/", "google": "/v1beta", "mistral": "/v1", "openai": "/"}


async def refused(host: ScriptedHost, kind: str = "openai") -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await list_models(kind, base_url=getattr(host, kind), api_key=KEY)
    return caught.value


@kinds
async def test_every_dialect_lists_its_models_with_its_key(kind: str, host: ScriptedHost) -> None:
    for ending in ("", ENDINGS[kind]):
        listed = await list_models(kind, base_url=getattr(host, kind) + ending, api_key=KEY)
        assert listed == {"alpha", "beta", "gamma"}
    name, value = SHOWN.get(kind, ("authorization", f"Bearer {KEY}"))
    assert [headers[name] for headers in host.listings] == [value, value]
    assert not host.log


@pytest.mark.parametrize("ending", ["", "/", "/v1"])
async def test_ollama_needs_no_path_in_its_address(host: ScriptedHost, ending: str) -> None:
    config = ProviderConfig("ollama", host.url + ending)
    assert OLLAMA.list_models is not None
    assert await OLLAMA.list_models(config) == {"alpha", "beta", "gamma"}


@kinds
async def test_a_key_that_is_refused_is_never_repeated(kind: str, host: ScriptedHost) -> None:
    host.on("/models", status=401, message=f"Incorrect API key provided: {KEY}")
    error = await refused(host, kind)
    assert (error.kind, str(error)) == ("auth", "HTTP 401: Incorrect API key provided: [redacted]")


async def test_an_address_without_a_list_says_so(host: ScriptedHost) -> None:
    with pytest.raises(ProviderError) as caught:
        await list_models("openai", base_url=host.url, api_key=KEY)
    assert caught.value.kind == "not_found"


@pytest.mark.parametrize(
    ("body", "kind"), [(b"<html>Welcome</html>", "not_found"), (b"[" * 200_000, "malformed")]
)
async def test_a_page_that_is_not_json_is_not_a_list(host: ScriptedHost, body: bytes, kind: str) -> None:
    host.on("/models", body=body)
    assert (await refused(host)).kind == kind


@pytest.mark.parametrize(
    ("document", "listed"),
    [
        ([{"id": "alpha"}], {"alpha"}),
        ({"data": [{"id": "alpha"}, {"id": 3}, None, "beta"]}, {"alpha"}),
        ({"data": {}}, set()),
        ({}, set()),
        (None, set()),
        ({"data": [{"id": f"model-{n}", "tags": ["a", "b"]} for n in range(3000)]}, None),
    ],
)
async def test_a_list_is_read_whatever_its_shape_and_length(
    host: ScriptedHost, document: Any, listed: set[str] | None
) -> None:
    host.on("/models", body=json.dumps(document).encode())
    found = await list_models("openai", base_url=host.openai, api_key=KEY)
    assert found == listed if listed is not None else len(found) == 3000


async def test_the_proxy_of_the_environment_is_used(
    host: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", host.url)
    for kind, address in zip(KINDS, ("/v1", "", "", "/mistral"), strict=True):
        assert "alpha" in await list_models(kind, base_url=f"http://pnyx.invalid{address}", api_key=KEY)
