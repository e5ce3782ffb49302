"""Forwarded headers: believed from the proxies that a setting names, dropped from anybody else."""

from __future__ import annotations

import asyncio
from ipaddress import ip_network

import pytest

from config import env
from config.env import ConfigError
from config.web.proxies import ForwardedHeaders


def seen(client: str, *headers: tuple[str, str], trusted: str = "10.0.0.0/8 2001:db8::/32", settings=None):
    """Client, scheme and headers that the application is told of."""
    settings.TRUSTED_PROXIES = tuple(map(ip_network, trusted.split()))
    told = {}

    async def application(scope, receive, send):
        told.update(scope)

    named = [(name.lower().encode(), value.encode()) for name, value in headers]
    scope = {"type": "http", "client": (client, 4711), "scheme": "http", "headers": [*named, (b"host", b"desk")]}
    asyncio.run(ForwardedHeaders(application)(scope, None, None))
    return told["client"][0], told["scheme"], dict(told["headers"])


FOR = "X-Forwarded-For"


@pytest.mark.parametrize(
    ("client", "forwarded", "expected"),
    [
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.9, 10.0.0.7", "203.0.113.9"),
        ("10.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("10.0.0.1", "[2001:db9::1]:4711", "2001:db9::1"),
        ("10.0.0.1", "10.0.0.9", "10.0.0.9"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "unknown", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9, nonsense", "10.0.0.1"),
        ("::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("192.0.2.1", "203.0.113.9", "192.0.2.1"),
        ("127.0.0.1", "203.0.113.9", "127.0.0.1"),
    ],
)
def test_the_client_is_the_last_address_that_is_no_proxy_of_ours(settings, client, forwarded, expected):
    """uvicorn believed every program on the same machine: 120 guesses came from 120 addresses."""
    assert seen(client, (FOR, forwarded), settings=settings)[0] == expected


def test_several_lines_are_one_list(settings):
    assert seen("10.0.0.1", (FOR, "198.51.100.1"), (FOR, "203.0.113.9"), settings=settings)[0] == "203.0.113.9"


def test_the_scheme_is_the_proxys_to_tell(settings):
    assert seen("10.0.0.1", ("X-Forwarded-Proto", "https"), settings=settings)[1] == "https"
    assert seen("192.0.2.1", ("X-Forwarded-Proto", "https"), settings=settings)[1] == "http"
    assert seen("10.0.0.1", ("X-Forwarded-Proto", "ftp"), settings=settings)[1] == "http"


def test_nothing_behind_reads_them_again(settings):
    headers = [(name, "203.0.113.9") for name in (FOR, "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded")]
    for client in ("10.0.0.1", "192.0.2.1"):
        assert seen(client, *headers, settings=settings)[2] == {b"host": b"desk"}


def test_django_has_no_header_of_its_own_to_believe(settings):
    assert settings.SECURE_PROXY_SSL_HEADER is None


def test_proxies_are_addresses_and_networks():
    found = env.read({"COUNTERSIGN_TRUSTED_PROXIES": "10.0.0.7, 172.16.0.0/12 fd00::/8"}).trusted_proxies
    assert found == tuple(map(ip_network, ("10.0.0.7/32", "172.16.0.0/12", "fd00::/8")))


@pytest.mark.parametrize("value", ["proxy.example.com", "10.0.0.1/8", "*", "10.0.0.0/33"])
def test_anything_else_is_refused_by_name(value):
    with pytest.raises(ConfigError, match="COUNTERSIGN_TRUSTED_PROXIES") as fault:
        env.read({"COUNTERSIGN_TRUSTED_PROXIES": value})
    assert "\n" not in str(fault.value)
