"""Addresses of hosts in settings: which are accepted, and that a message shows no secret."""

from __future__ import annotations

import pytest

from pnyx.config.base_url import host_url, plain_url

AZURE = "https://NAME.openai.azure.com/openai/deployments/D?api-version=2024-10-21"


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


def test_the_address_of_a_search_service_has_no_query() -> None:
    with pytest.raises(ValueError, match="without user, password, query or fragment"):
        plain_url(AZURE)


@pytest.mark.parametrize("url", ["htp://host/v1", "http:///v1", "http://user@host/v1?api-version=1"])
def test_what_is_wrong_with_the_address_of_a_model_host_is_not_its_query(url: str) -> None:
    with pytest.raises(ValueError, match=r"an http or https address, without user, password or fragment$"):
        host_url(url)
