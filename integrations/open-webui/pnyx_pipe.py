"""
title: pnyx
description: A panel of language models as models of Open WebUI, with its steps as they happen.
author: The pnyx developers
license: MIT
version: 0.2.0
required_open_webui_version: 0.6.0
"""

# Paste this file into Open WebUI (Admin Panel, Functions), switch it on, and set the address and the key of
# `pnyx serve` in its valves. It lists the models of the server, and shows the steps of the panel as status.
# What Open WebUI asks beside the chat (titles, tags, follow-ups) goes to a cheap model.

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
from pydantic import BaseModel, Field

Emit = Callable[[dict[str, Any]], Awaitable[None]]


class Pipe:
    class Valves(BaseModel):
        """base_url: of `pnyx serve`, with /v1. task_model: for titles, tags and follow-ups."""

        base_url: str = Field("http://127.0.0.1:8642/v1", description="The address of pnyx serve, with /v1")
        api_key: str = Field("", description="A key of pnyx serve --new-key NAME")
        task_model: str = Field(
            "", description="A cheap name of [serve.models] for titles, tags and follow-ups"
        )
        budget_usd: float = Field(
            0.0, description="The most that one answer may cost, in USD; 0 is the server's"
        )
        timeout_s: int = Field(900, description="Seconds to wait for the next part of an answer")

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def pipes(self) -> list[dict[str, str]]:
        """The models of the server; a line that says what is wrong, if it does not answer."""
        try:
            async with self._session() as session, session.get(f"{self.valves.base_url}/models") as response:
                document = await response.json()
        except (aiohttp.ClientError, TimeoutError, ValueError) as exc:
            return [{"id": "error", "name": f"pnyx does not answer: {exc}"}]
        if response.status != 200:
            return [{"id": "error", "name": f"pnyx: {_message(document)}"}]
        return [{"id": model["id"], "name": model["id"]} for model in document["data"]]

    async def pipe(
        self,
        body: dict[str, Any],
        __task__: str | None = None,
        __event_emitter__: Emit | None = None,
    ) -> AsyncIterator[str] | str:
        """Answer a chat: in pieces if it streams, else as one text."""
        request = self._request(body, __task__)
        if body.get("stream") and __task__ is None:
            return self._stream(request, __event_emitter__)
        async with self._session() as session, session.post(self._chat, json=request) as response:
            document = json.loads(await response.text())
        # A response that took long has begun with 200 before its error was known.
        if "error" in document:
            return f"pnyx: {_message(document)}"
        return document["choices"][0]["message"]["content"] or ""

    @property
    def _chat(self) -> str:
        return f"{self.valves.base_url}/chat/completions"

    def _session(self) -> aiohttp.ClientSession:
        limit = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=self.valves.timeout_s)
        return aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {self.valves.api_key}"}, timeout=limit
        )

    def _request(self, body: dict[str, Any], task: str | None) -> dict[str, Any]:
        """The request of Open WebUI as one to the server."""
        # Open WebUI puts the id of the function and a point before the name.
        model = body["model"].partition(".")[2] or body["model"]
        request: dict[str, Any] = {
            "model": model,
            "messages": body["messages"],
            "stream": bool(body.get("stream")),
        }
        if task is not None:
            request |= {"model": self.valves.task_model or model, "stream": False, "pnyx": {"footer": False}}
        elif self.valves.budget_usd:
            request["pnyx"] = {"budget_usd": self.valves.budget_usd}
        return request

    async def _stream(self, request: dict[str, Any], emit: Emit | None) -> AsyncIterator[str]:
        async with self._session() as session, session.post(self._chat, json=request) as response:
            if response.status != 200:
                yield f"pnyx: {_message(json.loads(await response.text()))}"
                return
            async for line in response.content:
                text = line.decode().strip()
                if not text.startswith("data:") or text == "data: [DONE]":
                    continue
                chunk = json.loads(text.removeprefix("data:"))
                if "error" in chunk:
                    yield f"pnyx: {_message(chunk)}"
                    return
                for choice in chunk.get("choices", ()):
                    if step := choice["delta"].get("reasoning_content"):
                        await _status(emit, step.strip())
                    if content := choice["delta"].get("content"):
                        yield content
        await _status(emit, "The panel has decided", done=True)


async def _status(emit: Emit | None, text: str, done: bool = False) -> None:
    if emit is not None and text:
        await emit({"type": "status", "data": {"description": text, "done": done}})


def _message(document: Any) -> str:
    error = document.get("error") if isinstance(document, dict) else None
    return error.get("message", str(error)) if isinstance(error, dict) else str(document)[:200]
