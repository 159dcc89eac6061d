"""Bodies that a client has compressed, and paths that a base URL makes longer."""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.interfaces.http.encodings import Decoder, EncodingError
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ENCODE: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstd.compress,
}
ASKED = {"model": "pnyx/single", "messages": [{"role": "user", "content": "Why? " * 200}]}
BOMB_MB = 40


@given(
    text=st.binary(max_size=300),
    name=st.sampled_from(sorted(ENCODE)),
    size=st.integers(1, 40),
    data=st.data(),
)
def test_a_body_comes_out_as_it_went_in_however_it_is_cut(
    text: bytes, name: str, size: int, data: st.DataObject
) -> None:
    sent = ENCODE[name](text)
    parts = [sent[at : at + size] for at in range(0, len(sent), size)]
    decoder = Decoder(name, len(text))
    assert b"".join(decoder.add(part, n == len(parts)) for n, part in enumerate(parts, 1)) == text
    short = Decoder(name, len(text))
    with pytest.raises(EncodingError):
        short.add(sent[: data.draw(st.integers(0, len(sent) - 1))], True)
    if text:
        with pytest.raises(EncodingError) as refused:
            Decoder(name, len(text) - 1).add(sent, True)
        assert refused.value.too_long


async def test_compressed_bodies_are_read_within_the_limit_of_a_body(lab: ScriptedHost) -> None:
    async with open_server() as server, server.client() as client:

        async def send(body: bytes, encoding: str) -> tuple[int, str]:
            headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
            answer = await client.post("/v1/chat/completions", content=body, headers=headers)
            return answer.status_code, answer.text

        for name, encode in ENCODE.items():
            assert (await send(encode(json.dumps(ASKED).encode()), name))[0] == 200
        plain = json.dumps(ASKED).encode()
        assert (await send(plain, "identity"))[0] == 200
        status, text = await send(plain, "br")
        assert status == 415
        assert "zstd" in text
        status, text = await send(plain, "gzip")
        assert (status, "is not gzip" in text) == (400, True)
        status, text = await send(gzip.compress(b" " * (BOMB_MB << 20)), "gzip")
        assert (status, "body_mb" in text) == (413, True)
    assert len(lab.log) >= 1


async def test_a_base_url_may_end_with_a_slash_and_a_wrong_one_is_named(lab: ScriptedHost) -> None:
    async with open_server() as server, server.client() as client:
        for path in ("/v1//chat/completions", "//v1/chat/completions"):
            answer = await client.post(f"{server.url}{path}", json=ASKED)
            assert answer.status_code == 200, (path, answer.text)
        for path in ("/chat/completions", "/v1/v1/chat/completions"):
            answer = await client.post(path, json=ASKED)
            assert answer.status_code == 404
            assert "/v1/chat/completions" in answer.json()["error"]["message"]
        missing = await client.post("/v1/moderations", json={"input": "x"})
        assert missing.status_code == 404
        assert missing.json()["error"] | {"message": ""} == {
            "message": "",
            "type": "invalid_request_error",
            "param": None,
            "code": "not_found",
        }
        async with server.client(key=None) as stranger:
            assert (await stranger.post("/v1//runs", json={"question": "Why?"})).status_code == 401
