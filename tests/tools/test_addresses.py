"""Which addresses are public, and which texts are URLs of a page."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.tools import ToolError
from pnyx.tools.addresses import is_public, plain_url, resolve_public

PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.215.14", "172.32.0.1", "2606:4700:4700::1111", "2a00:1450:4001::8a"]
PRIVATE = [
    *("0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.9.9.9"),
    *("169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1"),
    *("192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1"),
    *("239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16", "100.100.100.200"),
    *("::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::ffff:0:127.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1"),
    *("2001:0:4136:e378:8000:63bf:3fff:fdd2", "2002:7f00:1::", "2002:808:808::1", "3fff::1", "5f00::1"),
    *("fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "2a00::1%1", "fec0::1", "ff02::1"),
    *("", "localhost", "127.1", "0177.0.0.1", "2130706433", "0x7f000001", "1.1.1.1.1", "1.1.1.1/32"),
]


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_mapped_or_invalid_address_is_not_public(address: str) -> None:
    assert not is_public(address)


@given(st.ip_addresses())
def test_no_address_is_public_that_the_registry_excludes(
    ip: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if is_public(str(ip)):
        assert ip.is_global
        assert not ip.is_multicast
        assert not ip.is_reserved


@given(st.ip_addresses(v=4))
def test_no_ipv6_address_that_embeds_ipv4_is_public(
    ip: ipaddress.IPv4Address,
) -> None:
    n = int(ip)
    for prefix in ("::ffff:0:0", "::", "64:ff9b::", "::ffff:0:0:0"):
        assert not is_public(str(ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | n)))
    assert not is_public(str(ipaddress.IPv6Address(0x2002 << 112 | n << 80)))


@pytest.mark.parametrize(
    "url",
    [
        *(
            "ftp://example.org/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "data:text/html,x",
            "gopher://a",
        ),
        *("example.org", "//example.org", "http://", "http:///path", "", "http://[::1", "http://host:99999/"),
        *("http://user@example.org/", "http://user:pw@example.org/", "http://:pw@example.org/"),
        *("http://exa mple.org/", "http://example.org\\@127.0.0.1/", "http://example.org/\r\nX: 1"),
        *("http://2130706433/", "http://017700000001/", "http://0x7f000001/", "http://127.1/"),
        *("http://0x7f.0.0.1/", "http://0177.0.0.1/", "http://127.0.0.1./", "http://1.2.3.4.5/"),
        *("http://example.org%00.evil/", "http://a.b.0x/", "http://./"),
    ],
)
def test_a_url_that_is_not_plain_is_refused(url: str) -> None:
    with pytest.raises(ToolError):
        plain_url(url)


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://example.org", "example.org", 80),
        ("HTTPS://Example.ORG:8443/a?b#c", "example.org", 8443),
        ("https://bücher.example/", "xn--bcher-kva.example", 443),
        ("http://[2606:4700::1]/", "2606:4700::1", 80),
        ("http://sub_domain.example.org./", "sub_domain.example.org.", 80),
    ],
)
def test_a_plain_url_is_accepted(url: str, host: str, port: int) -> None:
    parsed = plain_url(url)
    assert (parsed.raw_host, parsed.port, parsed.raw_fragment) == (host, port, "")


@pytest.mark.parametrize("url", ["http://127。0。0。1/", "http://①②⑦.⓪.⓪.①/", "http://127.0.0.1/"])
async def test_an_address_in_other_digits_or_dots_is_refused(url: str) -> None:
    async def never(host: str, port: int) -> list[str]:
        raise OSError(host)

    with pytest.raises(ToolError):
        await resolve_public(plain_url(url), (), never)


@pytest.mark.parametrize(
    ("found", "port", "fine"),
    [
        (["1.1.1.1"], 443, True),
        (["1.1.1.1", "2606:4700::1"], 8080, True),
        (["1.1.1.1"], 22, False),
        (["1.1.1.1"], 6379, False),
        (["1.1.1.1", "127.0.0.1"], 443, False),
        (["::ffff:127.0.0.1"], 443, False),
        (["10.0.0.1"], 9000, True),
        (["10.0.0.1"], 80, False),
        ([], 443, False),
    ],
)
async def test_a_name_is_accepted_only_if_all_its_addresses_are(
    found: list[str], port: int, fine: bool
) -> None:
    async def look_up(host: str, looked_up: int) -> list[str]:
        assert (host, looked_up) == ("example.org", port)
        return found

    url = plain_url(f"http://example.org:{port}/")
    if fine:
        assert await resolve_public(url, [("10.0.0.1", 9000)], look_up) == tuple(found)
    else:
        with pytest.raises(ToolError):
            await resolve_public(url, [("10.0.0.1", 9000)], look_up)
