"""Whatever a host changes of a valid reply: its text is read, or the error names the host and quotes it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.errors import ProviderError
from pnyx.providers.base import Call, Completion, Message
from pnyx.providers.hosted.connection import Connection, Limits, Response
from pnyx.providers.hosted.provider import HostedProvider, open_hosted
from tests.hosts.envelopes import DIALECTS, FORMS, envelope, mutate, mutations, wire
from tests.support.properties import examples

HOST = "host.example:8000"
ZSTD = b"\x28\xb5\x2f\xfd"
GZIP = b"\x1f\x8b"
"""How a compressed body starts; one that breaks off has no words."""
forms = pytest.mark.parametrize("form", ["whole", "stream"])
dialects = pytest.mark.parametrize("dialect", DIALECTS)


class _Body:
    """The part of aiohttp's response that is read: pieces, then the end."""

    charset = None
    headers: Mapping[str, str] = MappingProxyType({})

    def __init__(self, pieces: list[bytes]) -> None:
        self.content, self._pieces = self, iter(pieces)

    async def readany(self) -> bytes:
        return next(self._pieces, b"")


class _Replays(Connection):
    """A connection whose host sends `pieces` with status 200, whatever it is asked."""

    pieces: list[bytes]

    @asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        headers: list[tuple[str, str]],
        limits: Limits,
        body: dict[str, Any] | None = None,
    ) -> AsyncIterator[Response]:
        yield Response(_Body(self.pieces), limits)  # type: ignore[arg-type]


class Lab:
    """A provider of each dialect, and the loop that they live on."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.connection = _Replays(f"http://{HOST}")
        self.providers: dict[str, HostedProvider] = {}

    def ask(self, dialect: str, pieces: list[bytes], stream: bool) -> tuple[Completion | ProviderError, str]:
        """The outcome, and the text as it was streamed. Any exception but `ProviderError` fails the test."""
        if dialect not in self.providers:
            self.providers[dialect] = open_hosted(dialect, base_url=f"http://{HOST}", api_key="k")
            self.providers[dialect]._connection = self.connection
        self.connection.pieces = pieces
        heard: list[str] = []
        call = Call("alpha", (Message("user", "Is 7 prime?"),), max_tokens=1000)
        try:
            completion = self.providers[dialect].complete(call, heard.append if stream else None)
            return self.runner.run(completion), "".join(heard)
        except ProviderError as exc:
            return exc, "".join(heard)

    def close(self) -> None:
        for provider in self.providers.values():
            self.runner.run(provider.close())
        self.runner.close()


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.close()


@dialects
@forms
@examples(30)
@given(data=st.data())
def test_text_that_was_not_touched_is_read(lab: Lab, dialect: str, form: str, data: st.DataObject) -> None:
    reply = envelope(dialect, form == "stream")
    changes = data.draw(mutations(reply))
    documents = mutate(reply, changes)
    pieces = data.draw(wire(reply, documents, form == "stream"))
    asked_for_stream = data.draw(st.booleans())
    result, heard = lab.ask(dialect, pieces, asked_for_stream)
    touched = [at for at in reply.texts if any(change.touches(at) for change in changes)]
    ends = [at for at in reply.ends if not any(change.touches(at) for change in changes)]
    if isinstance(result, ProviderError):
        assert HOST in str(result)
        _quotes(result, pieces)
        # Nothing that could be read was lost.
        assert len(touched) == len(reply.texts) or not (ends or reply.done), result
        return
    assert heard == (result.text if asked_for_stream else "")
    at = 0
    for place, text in reply.texts.items():
        if place not in touched:
            at = result.text.index(text, at) + len(text)
    # Other changes may make text of what was none, such as of a thought without its mark.
    if all(change.what == "add" for change in changes):
        assert result.text == "".join(reply.texts.values())
        assert result.reasoning == "No divisor."
        assert [(call.name, call.arguments.get("x")) for call in result.tool_calls] == [("add", 1)]
        assert result.usage is not None
        assert (result.usage.input_tokens, result.usage.output_tokens) == (10, 5)


@pytest.mark.parametrize("api", FORMS)
@forms
@examples(20)
@given(data=st.data())
def test_a_reply_of_another_api_is_read_or_its_error_quotes_it(
    lab: Lab, api: str, form: str, data: st.DataObject
) -> None:
    reply = envelope(api, form == "stream")
    changes = data.draw(mutations(reply))
    pieces = data.draw(wire(reply, mutate(reply, changes), form == "stream"))
    result, _ = lab.ask("openai", pieces, data.draw(st.booleans()))
    if isinstance(result, ProviderError):
        assert HOST in str(result)
        _quotes(result, pieces)
        # What only adds something unknown changes nothing.
        assert any(change.what != "add" for change in changes), result
    elif all(change.what == "add" for change in changes):
        assert (result.text, result.reasoning) == ("Yes, seven.", "No divisor.")
        assert [(call.name, call.arguments.get("x")) for call in result.tool_calls] == [("add", 1)]
        assert result.usage is not None
        assert (result.usage.input_tokens, result.usage.output_tokens) == (10, 5)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    *(
                        "choices",
                        "message",
                        "delta",
                        "content",
                        "text",
                        "finish_reason",
                        "tool_calls",
                        "index",
                    ),
                    *("function", "arguments", "type", "content_block", "candidates", "parts", "usage"),
                    *(
                        "error",
                        "code",
                        "functionCall",
                        "response",
                        "result",
                        "output",
                        "promptFeedback",
                        "id",
                    ),
                )
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@dialects
@forms
@examples(30)
@given(documents=st.lists(JSON, min_size=1, max_size=4))
def test_any_json_is_a_reply_or_an_error_of_its_host(
    lab: Lab, dialect: str, form: str, documents: list[Any]
) -> None:
    if form == "stream":
        pieces = [f"data: {json.dumps(one)}\n\n".encode() for one in documents]
    else:
        pieces = [json.dumps(documents[0]).encode()]
    result, heard = lab.ask(dialect, pieces, True)
    if isinstance(result, ProviderError):
        assert HOST in str(result)
    elif result.finish_reason != "filter":
        assert heard == result.text


@dialects
@examples(30)
@given(pieces=st.lists(st.binary(min_size=1, max_size=40), max_size=4))
def test_any_bytes_are_an_error_that_quotes_them(lab: Lab, dialect: str, pieces: list[bytes]) -> None:
    result, _ = lab.ask(dialect, pieces, False)
    assert isinstance(result, ProviderError)
    assert HOST in str(result)
    _quotes(result, pieces)


def _quotes(error: ProviderError, pieces: list[bytes]) -> None:
    """Fail if the error has none of the words of the body, where it has any that can be read."""
    body = b"".join(pieces)
    words = "".join(c if c.isalnum() else " " for c in body.decode("utf-8", "replace")).split()
    if words not in ([], ["data"]) and not body.startswith((ZSTD, GZIP)):
        assert any(word[:20] in str(error) for word in words), error
