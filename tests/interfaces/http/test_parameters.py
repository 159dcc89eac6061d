"""A misspelt parameter in the query is an error, not a request without it; what others add is ignored."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.serving import ServerHandle

OF_OTHERS = ("/v1/chat", "/v1/completions", "/v1/embeddings", "/v1/messages", "/v1/models", "/v1/responses")
"""Routes of other APIs, whose clients send parameters that pnyx does not know, such as `beta=true`."""


async def test_every_parameter_is_known_when_misspelt_and_others_are_ignored(
    server: ServerHandle,
) -> None:
    found = set[str]()
    async with server.client() as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
        for path, methods in paths.items():
            for method, route in methods.items():
                body: Any = {} if method in ("post", "patch") else None
                for parameter in route.get("parameters", ()):
                    if parameter["in"] != "query" or path.startswith((*OF_OTHERS, "/v1/shared")):
                        continue
                    name = parameter["name"]
                    answer = await client.request(method.upper(), f"{path}?{name}s=1", json=body)
                    said = f"unknown parameter '{name}s' in the query; did you mean {name}?"
                    assert (answer.status_code, answer.json()["error"]["message"]) == (422, said), path
                    found.add(name)
                answer = await client.request(method.upper(), f"{path}?_=1764&utm_source=x", json=body)
                assert "unknown parameter" not in answer.text, f"{method} {path}"
    assert {"limit", "after", "prompts", "include"} <= found


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("includes=prompts", "unknown parameter 'includes' in the query; did you mean include?"),
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
        for query, status in (("prompts=omit&limit=3", 200), ("prompts=include", 422), ("limits=3", 422)):
            answer = await client.get(f"/v1/shared/events?{query}")
            assert answer.status_code == status, answer.text


async def test_prompts_are_included_by_default_and_on_demand(server: ServerHandle) -> None:
    async with server.client() as client:
        run = (await client.post("/v1/runs", json={"question": "Why?", "wait": True})).json()["run_id"]
        queries = ("limit=9", "limit=9&prompts=include", "limit=9&include=prompts", "limit=9&prompts=omit")
        pages = [(await client.get(f"/v1/runs/{run}/events?{query}")).text for query in queries]
    assert ['"prompt": ""' in page for page in pages] == [False, False, False, True], pages[-1]
    assert pages[0] == pages[1] == pages[2]
