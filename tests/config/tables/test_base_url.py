"""Addresses of hosts in settings: which are accepted, and that a message shows no secret."""

from __future__ import annotations

import re

import pytest

from pnyx.config.tables.base_url import host_url, plain_url

NO_HOST = (
    "must be an address such as http://host:8000/v1, or http://[::1]:8000/v1 for IPv6, "
    "with a port from 1 to 65535 or none"
)
AZURE = "https://name.openai.azure.com/openai/deployments/D?api-version=2024-10-21"


@pytest.mark.parametrize("url", [AZURE, f"{AZURE}&x=", "http://127.0.0.1:9000/v1", "https://host/v1?", None])
def test_the_address_of_a_model_host_may_have_a_query(url: str | None) -> None:
    assert host_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "https://host/v1?api-version=1&api%2Dkey=planted",
        "https://host/v1?sig=planted",
        "https://host/v1?Access_Token=planted",
        "https://host/v1?v=1@planted",
        "https://host/v1?v=1#planted",
        "https://host/v1?v=1?planted",
        "https://host/v1?v=pl anted",
        "https://user:planted@host/v1?api-version=1",
    ],
)
def test_a_query_with_a_key_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ValueError, match="must be an http or https address") as caught:
        host_url(url)
    assert "planted" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("HTTPS://API.Host/v1", "https://api.host/v1"),
        ("Http://LOCALHOST:8000/V1/Own", "http://localhost:8000/V1/Own"),
        (
            "https://NAME.openai.azure.com/openai/D?api-version=A",
            "https://name.openai.azure.com/openai/D?api-version=A",
        ),
        ("HTTP://[FE80::1]:8000", "http://[fe80::1]:8000"),
    ],
)
def test_scheme_and_host_may_have_capitals(url: str, same: str) -> None:
    assert host_url(url) == same


def test_the_address_of_a_search_service_has_no_query() -> None:
    with pytest.raises(ValueError, match="without user, password, query or fragment"):
        plain_url(AZURE)


@pytest.mark.parametrize(
    ("url", "fix"),
    [
        ("htp://host/v1", "must start with http:// or https://"),
        ("https:/host/v1", "must start with http:// or https://"),
        ("https//host/v1", "must start with http:// or https://"),
        ("http:host", "must start with http:// or https://"),
        ("http:///v1", "must start with http:// or https://"),
        ("localhost:8000/v1", "must start with http:// or https://"),
        (" http://host/v1", "must start with http:// or https://"),
        ("http://host /v1", "must be an address without spaces"),
        ("http://host/v1\n", "must be an address without spaces"),
        ("http://:8000/v1", NO_HOST),
        ("http://host:70000/v1", NO_HOST),
        ("http://host:0/v1", NO_HOST),
        ("http://host:80:90/v1", NO_HOST),
        ("http://[::1/v1", NO_HOST),
        ("http://::1/v1", NO_HOST),
        ("http://fe80::1/v1", NO_HOST),
        ("http://ho\u2100st/v1", NO_HOST),
        (
            "https://b\u00fccher.example/v1",
            "must have the name of its host in ASCII letters: write it as xn--bcher-kva.example",
        ),
        ("https://" + "\u00fc" * 70 + "/v1", "must have the name of its host in ASCII letters"),
        ("https://host/\u00fc", "must have other characters than those of ASCII written as %XX in its path"),
        (
            "https://host/v1/chat/completions",
            "must be the address without /chat/completions, which pnyx adds",
        ),
        (
            "http://user@host/v1?api-version=1",
            "must be an http or https address, without user, password or fragment",
        ),
    ],
)
def test_the_message_says_what_to_write(url: str, fix: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(fix)}$"):
        host_url(url)
