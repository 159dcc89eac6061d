"""Errors that no host should send: none of them is an error of ours, or takes long to read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.errors import ProviderError
from pnyx.providers.base import Call, Message
from pnyx.providers.hosted.adjustments import Adjustments
from pnyx.providers.hosted.failures import failure, read_report, report
from pnyx.providers.hosted.provider import open_hosted
from pnyx.providers.hosted.waits import RESETS
from tests.hosts.test_errors import output_limit, request_body
from tests.support.hosting import KEY, stalls
from tests.support.properties import examples
from tests.support.scripted import ScriptedHost

QUESTION = (Message("user", "Is 7 prime?"),)
KEYS = (
    *("error", "message", "code", "type", "status", "param", "detail", "loc", "msg", "details", "metadata"),
    "raw",
)
WORDS = (
    *("max_tokens", "is", "too", "large", "128", "9" * 400, "1,024", "temperature", "not", "supported"),
    *("context", "length", "requested", "(", ")", "limit", "try", "again", "in", "5m", "1" * 400 + "s"),
    *("'seed'", "[1,", "9]", "exceed context limit: 1 + 2 > 3", "Limit 9, Requested 10", "system role"),
    *("stream", "json schema", "tools"),
)
NUMBERS = st.integers().map(str) | st.floats().map(str) | st.datetimes().map(str)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner),
    max_leaves=12,
)
BODIES = ANY.map(json.dumps) | st.text() | st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)


@examples(150)
@given(
    status=st.integers(300, 599),
    body=BODIES,
    headers=st.dictionaries(st.sampled_from((*RESETS, "retry-after", "retry-after-ms")), st.text() | NUMBERS),
    kind=st.sampled_from(("openai", "anthropic", "google")),
)
def test_no_error_of_a_host_is_one_of_ours(
    status: int, body: str, headers: dict[str, str], kind: str
) -> None:
    error = failure(read_report(status, body), headers, body)
    assert error.kind in ProviderError.KINDS
    assert error.retry_after is None or error.retry_after >= 0
    sent = request_body(kind)
    found = Adjustments()
    change = found.learn("alpha", error, sent)
    found.of("alpha").apply(sent)
    assert change is None or output_limit(sent) >= 16
    try:
        document = json.loads(body)
    except ValueError:
        return
    if (inside := report(document)) is not None:
        assert failure(inside).kind in ProviderError.KINDS


async def test_a_long_error_blocks_nothing(lab: ScriptedHost) -> None:
    texts = ("input exceeds ", "model ", "retry ", "max_tokens ", "temperature not ", "9", "(", "tool ", "\n")
    provider = open_hosted("openai", base_url=lab.openai, api_key=KEY)
    for number, text in enumerate(texts):
        body = json.dumps({"error": {"message": text * (60_000 // len(text)), "type": text * 99}})
        lab.on(f"m{number}", status=400, body=body.encode())
        async with stalls() as spells:
            with pytest.raises(ProviderError):
                await provider.complete(Call(f"m{number}", QUESTION, 1000, temperature=0.5))
        assert max(spells) < 0.25, text
    await provider.close()
