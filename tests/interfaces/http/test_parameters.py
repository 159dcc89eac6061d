"""A parameter in the query that a route of pnyx does not have is an error, not a request without it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.serving import ServerHandle

OF_OTHERS = ("/v1/chat", "/v1/completions", "/v1/embeddings", "/v1/messages", "/v1/models", "/v1/responses")
"""Routes of other APIs, whose clients send parameters that pnyx does not know, such as `beta=true`."""
WITHOUT = ("/health", "/metrics", "/openapi.json")
"""Routes that probes and browsers read."""


async def test_no_route_ignores_a_parameter(server: ServerHandle) -> None:
    async with server.client() as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
        for path, methods in paths.items():
            for method in methods:
                body: Any = {} if method in ("post", "patch") else None
                answer = await client.request(method.upper(), f"{path}?nonsense=1", json=body)
                refused = "unknown parameter 'nonsense' in the query" in answer.text
                ours = not path.startswith((*OF_OTHERS, *WITHOUT, "/v1/shared"))
                assert (answer.status_code == 422 and refused) == ours, f"{method} {path}: {answer.text}"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("include=prompts", "unknown parameter 'include' in the query"),
        ("prompt=omit", "unknown parameter 'prompt' in the query; did you mean prompts?"),
        ("prompts=omit&limit=3&Limit=5", "unknown parameter 'Limit' in the query; did you mean limit?"),
    ],
)
async def test_the_parameter_that_was_meant_is_named(server: ServerHandle, query: str, message: str) -> None:
    async with server.client() as client:
        answer = await client.get(f"/v1/runs/x/events?{query}")
    assert (answer.status_code, answer.json()["error"]) == (
        422,
        {"type": "invalid_request", "message": message},
    )


async def test_all_parameters_of_a_shared_run_are_known(server: ServerHandle) -> None:
    async with server.client() as client:
        run = (await client.post("/v1/runs", json={"question": "Why?", "wait": True})).json()["run_id"]
        token = (await client.post(f"/v1/runs/{run}/shares", json={})).json()["token"]
        client.headers["Authorization"] = f"Bearer {token}"
        for query, status in (("prompts=omit&limit=3", 200), ("prompts=include", 422), ("include=x", 422)):
            answer = await client.get(f"/v1/shared/events?{query}")
            assert answer.status_code == status, answer.text
