"""A server for the clients of other APIs, and a panel that says one thing."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anthropic
import openai
import pytest

from tests.support.scripted import ScriptedHost
from tests.support.serving import SERVER_KEY, ServerHandle, open_server

ANSWER = "It is six times seven.\nFinal answer: 42"


@pytest.fixture
async def server(lab: ScriptedHost) -> AsyncIterator[ServerHandle]:
    lab.on("*", text=ANSWER)
    models = {"title-helper": {"protocol": "single", "panel": ["lab:beta"]}}
    async with open_server(models=models) as server:
        yield server


@pytest.fixture
async def client(server: ServerHandle) -> AsyncIterator[openai.AsyncOpenAI]:
    # Without the certificates of authorities, whose reading takes longer than most requests.
    http = openai.DefaultAsyncHttpxClient(verify=False)
    async with openai.AsyncOpenAI(
        base_url=f"{server.url}/v1", api_key=SERVER_KEY, max_retries=0, http_client=http
    ) as client:
        yield client


@pytest.fixture
async def claude(server: ServerHandle) -> AsyncIterator[anthropic.AsyncAnthropic]:
    http = anthropic.DefaultAsyncHttpxClient(verify=False)
    async with anthropic.AsyncAnthropic(
        base_url=server.url, api_key=SERVER_KEY, max_retries=0, http_client=http
    ) as client:
        yield client
