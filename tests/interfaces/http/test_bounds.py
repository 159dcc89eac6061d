"""Every text, list and object of a request has a bound; one beyond it is refused in the form of its API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pnyx.interfaces.mcp.catalogue import list_tools
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, open_server

Place = tuple[str, ...]
"""A path in a body: the name of a field, `[]` for an entry of a list, `*` for a field of any name."""

CHAT = {"model": "pnyx/voting", "messages": [{"role": "user", "content": "Why?"}]}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/runs": {"question": "Why?"},
    "/v1/plan": {"question": "Why?"},
    "/v1/chat/completions": CHAT,
    "/v1/completions": {"model": "pnyx/voting", "prompt": "Why?"},
    "/v1/responses": {"model": "pnyx/voting", "input": "Why?"},
    "/v1/messages": {**CHAT, "max_tokens": 100},
    "/v1/messages/count_tokens": CHAT,
}
MESSAGE = {"role": "user", "content": "Why?"}
MOST_BODY = 16_000_000


def bounds(
    schema: dict[str, Any], definitions: dict[str, Any], place: Place = (), seen: tuple[str, ...] = ()
) -> Iterator[tuple[Place, str, int | None]]:
    """Yield the places of a schema that can be long, with their type and their bound, None without one."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        if name not in seen:
            yield from bounds(definitions[name], definitions, place, (*seen, name))
        return
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from bounds(one, definitions, place, seen)
    match schema.get("type"):
        case "string" if not schema.keys() & {"enum", "const"}:
            yield place, "string", schema.get("maxLength")
        case "array":
            yield place, "array", schema.get("maxItems")
            yield from bounds(schema.get("items", {}), definitions, (*place, "[]"), seen)
        case "object":
            for name, one in schema.get("properties", {}).items():
                yield from bounds(one, definitions, (*place, name), seen)
            more = schema.get("additionalProperties")
            if "properties" not in schema:
                yield place, "object", schema.get("maxProperties")
            if isinstance(more, dict):
                yield from bounds(more, definitions, (*place, "*"), seen)


def bodies(server: ServerHandle) -> Iterator[tuple[str, str, Place, str, int | None]]:
    """Yield every place of every body: method, path, place, type and bound."""
    document = server.app.openapi()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                schema = content["application/json"]["schema"]
                for found in bounds(schema, document["components"]["schemas"]):
                    yield method, path, *found


async def test_every_text_list_and_object_of_a_body_has_a_bound(lab: ScriptedHost) -> None:
    async with open_server() as server:
        found = list(bodies(server))
    assert len(found) > 100
    assert {path for _, path, *_ in found} >= BODIES.keys()
    assert [one for one in found if one[-1] is None] == []


def test_every_text_list_and_object_of_a_tool_of_mcp_has_a_bound() -> None:
    for tool in list_tools():
        schema = tool.input_schema
        assert [one for one in bounds(schema, schema.get("$defs", {})) if one[-1] is None] == [], tool.name


def too_long(kind: str, bound: int) -> Any:
    match kind:
        case "string":
            return "a" * (bound + 1)
        case "array":
            return [{} for _ in range(bound + 1)]
        case _:
            return {f"k{n}": "v" for n in range(bound + 1)}


def with_value(place: Place, value: Any) -> Any:
    """A document that has a value at a place."""
    if not place:
        return value
    first, *rest = place
    inner = with_value(tuple(rest), value)
    if first == "[]":
        return [inner]
    return {"k" if first == "*" else first: inner}


async def test_what_is_longer_than_its_bound_is_refused_in_the_form_of_its_api(lab: ScriptedHost) -> None:
    async with open_server() as server:
        cases = [
            (path, place, kind, bound)
            for method, path, place, kind, bound in bodies(server)
            if method == "post" and path in BODIES and bound is not None and bound < MOST_BODY // 2
        ]
        assert len(cases) > 80
        # A text of the longest kind is 4 MB: once for each path is enough.
        heavy = {
            (path, kind): (path, place, kind, bound) for path, place, kind, bound in cases if bound > 10**5
        }
        async with server.client() as client:
            for path, place, kind, bound in [*heavy.values(), *(one for one in cases if one[3] <= 10**5)]:
                document = with_value(place, too_long(kind, bound))
                if place[:2] == ("messages", "[]") and len(place) > 2:
                    document = {"messages": [MESSAGE | document["messages"][0]]}
                response = await client.post(path, json=BODIES[path] | document)
                where = f"{path} {'.'.join(place)}: {response.text[:300]}"
                assert 400 <= response.status_code < 500, where
                error = response.json()["error"]
                assert len(response.content) < 2000, where
                if path.startswith("/v1/messages"):
                    assert response.json()["type"] == "error", where
                elif path not in ("/v1/runs", "/v1/plan"):
                    assert error.keys() == {"message", "type", "param", "code"}, where
                assert error["message"], where
        assert await server.service.list_runs(limit=10) == []
    assert lab.log == []


NESTED = [
    ("/v1/chat/completions", {"tools": [{"type": "function", "function": {"name": "a" * 5_000_000}}]}),
    (
        "/v1/chat/completions",
        {"tools": [{"type": "function", "function": {"name": "t", "description": "a" * 200_000}}]},
    ),
    ("/v1/chat/completions", {"metadata": {"a": 1}, "response_format": {"type": "a" * 5_000_000}}),
    ("/v1/chat/completions", {"pnyx": {"models": ["lab:" + "a" * 3_900_000] * 3}}),
    ("/v1/messages", {"tools": [{"name": "t", "input_schema": {"a" * 500_000: {}}}]}),
    ("/v1/responses", {"tools": [{"type": "function", "name": "t", "parameters": {"enum": [0] * 200_000}}]}),
    ("/v1/runs", {"client_tools": [{"name": "t", "description": "a" * 200_000}]}),
    ("/v1/runs", {"models": [f"lab:{'a' * 500_000}{n}" for n in range(30)]}),
]


@pytest.mark.parametrize(("path", "more"), NESTED)
async def test_what_is_long_within_an_object_is_refused_too(
    lab: ScriptedHost, path: str, more: dict[str, Any]
) -> None:
    async with open_server() as server, server.client() as client:
        response = await client.post(path, json=BODIES[path] | more)
        assert response.status_code in (400, 422)
        assert len(response.content) < 2000
        assert await server.service.list_runs(limit=10) == []
