"""Addresses that members name lead into public networks alone, however they are written, whatever names say later."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import httpx2
import pytest

from config import env
from config.env import ConfigError
from sessions_app import guarded_http

PRIVATE = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.8", "192.0.2.1", "192.168.1.1",
    "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1",
    "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "4000::1",
]  # fmt: skip
PUBLIC = ["1.1.1.1", "8.8.8.8", "172.32.0.1", "192.169.0.1", "2606:4700::1111", "64:ff9b::101:101", "2002:808:808::1"]
SPELLINGS = [
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1", "0", "0.0.0.0",
    "localhost", "LOCALHOST", "localhost.", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::]",
    "169.254.169.254", "[fd00:ec2::254]", "127.0.0.1%2F@example.com",
]  # fmt: skip


class Secret(BaseHTTPRequestHandler):
    """An internal service, which must not be reached, and redirections."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        hops = int(self.path.rpartition("/")[2] or 0) if self.path.startswith("/hops/") else 0
        self.send_response(307 if hops or self.path.startswith("/to/") else 200)
        if hops:
            self.send_header("Location", f"/hops/{hops - 1}")
        if self.path.startswith("/to/"):
            self.send_header("Location", f"http://{self.path[4:]}/")
        if self.path == "/packed":
            self.send_header("Content-Encoding", "gzip")
        if self.path == "/events":
            self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        if self.path in ("/long", "/events"):
            self.wfile.write(b"x" * (guarded_http.MOST_BYTES + 1))

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def internal() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Secret)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def get(url: str, **options) -> int:
    async def ask() -> int:
        async with guarded_http.client({}) as client:
            return (await client.get(url, **options)).status_code

    return anyio.run(ask)


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_of_the_internet_is_told(address):
    assert not guarded_http.is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_is_told(address):
    assert guarded_http.is_public(address)


@pytest.mark.parametrize("host", SPELLINGS)
def test_no_spelling_leads_to_this_machine(internal, host):
    with pytest.raises((guarded_http.PrivateAddress, httpx2.InvalidURL, httpx2.ConnectError)):
        get(f"http://{host}:{internal.server_port}/latest/meta-data/")
    assert internal.asked == []


def test_an_open_and_a_closed_port_of_a_private_network_look_alike(internal):
    said = []
    for port in (internal.server_port, 9):
        with pytest.raises(guarded_http.PrivateAddress) as refused:
            get(f"http://127.0.0.1:{port}/")
        said.append(str(refused.value))
    assert said[0] == said[1]


def names(monkeypatch, *answers: list[str]) -> list[str]:
    """Let the resolver answer so, one list of addresses after the other; the names that it was asked for."""
    asked, waiting = [], list(answers)

    async def getaddrinfo(host, port, **_):
        asked.append(host)
        addresses = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(anyio, "getaddrinfo", getaddrinfo)
    return asked


def connections(monkeypatch) -> list[str]:
    """Addresses that a connection is opened to, none of which answers."""
    made = []

    async def connect_tcp(self, host, port, *_, **__):
        made.append(host)
        raise guarded_http.httpcore2.ConnectError("no answer")

    monkeypatch.setattr(guarded_http.httpcore2.AnyIOBackend, "connect_tcp", connect_tcp)
    return made


@pytest.mark.parametrize("addresses", [["10.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["127.0.0.1", "8.8.8.8"]])
def test_a_name_is_refused_when_one_of_its_addresses_is_private(monkeypatch, addresses):
    made = connections(monkeypatch)
    names(monkeypatch, addresses)
    with pytest.raises(guarded_http.PrivateAddress, match="shop.example leads into a private network"):
        get("http://shop.example/")
    assert made == []


def test_the_connection_goes_to_the_address_that_was_looked_at(monkeypatch):
    """A name that leads elsewhere when it is asked for again (DNS rebinding) gains nothing: it is asked once."""
    made = connections(monkeypatch)
    asked = names(monkeypatch, ["8.8.8.8", "8.8.4.4"], ["127.0.0.1"])
    with pytest.raises(httpx2.ConnectError):
        get("http://shop.example/")
    assert (asked, made) == (["shop.example"], ["8.8.8.8", "8.8.4.4"])


def test_every_further_connection_is_looked_at_as_well(monkeypatch):
    connections(monkeypatch)
    names(monkeypatch, ["8.8.8.8"], ["127.0.0.1"])
    with pytest.raises(httpx2.ConnectError):
        get("http://shop.example/")
    with pytest.raises(guarded_http.PrivateAddress):
        get("http://shop.example/")


def test_proxies_of_the_environment_are_not_asked(monkeypatch, internal):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{internal.server_port}")
    names(monkeypatch, ["10.0.0.1"])
    with pytest.raises(guarded_http.PrivateAddress):
        get("http://shop.example/")
    assert internal.asked == []


@pytest.mark.parametrize("listed", [("127.0.0.1", None), ("127.0.0.1", "port")])
def test_a_host_that_the_operator_lists_is_reached(settings, internal, listed):
    host, port = listed
    settings.PRIVATE_HOSTS = frozenset({(host, port and internal.server_port)})
    assert get(f"http://127.0.0.1:{internal.server_port}/") == 200


def test_another_port_of_a_listed_host_is_not_listed(settings, internal):
    settings.PRIVATE_HOSTS = frozenset({("127.0.0.1", 9)})
    with pytest.raises(guarded_http.PrivateAddress):
        get(f"http://127.0.0.1:{internal.server_port}/")


@pytest.mark.parametrize("target", ["127.0.0.2", "localhost", "169.254.169.254", "[::1]"])
def test_a_redirect_leads_to_no_other_private_host(settings, internal, target):
    settings.PRIVATE_HOSTS = frozenset({("127.0.0.1", None)})
    with pytest.raises(guarded_http.PrivateAddress):
        get(f"http://127.0.0.1:{internal.server_port}/to/{target}:{internal.server_port}", follow_redirects=True)
    assert len(internal.asked) == 1


def test_an_answer_that_does_not_end_is_cut_off(settings, internal):
    settings.PRIVATE_HOSTS = frozenset({("127.0.0.1", None)})
    with pytest.raises(httpx2.ReadError, match="the answer has more than 16,777,216 bytes"):
        get(f"http://127.0.0.1:{internal.server_port}/long")
    assert get(f"http://127.0.0.1:{internal.server_port}/events") == 200


def test_an_answer_that_unpacks_to_anything_is_not_unpacked(settings, internal):
    settings.PRIVATE_HOSTS = frozenset({("127.0.0.1", None)})
    with pytest.raises(httpx2.ReadError, match="compressed"):
        get(f"http://127.0.0.1:{internal.server_port}/packed")


def test_redirects_are_few(settings, internal):
    settings.PRIVATE_HOSTS = frozenset({("127.0.0.1", None)})
    url = f"http://127.0.0.1:{internal.server_port}/hops/"
    assert get(f"{url}{guarded_http.REDIRECTS}", follow_redirects=True) == 200
    with pytest.raises(httpx2.TooManyRedirects):
        get(f"{url}{guarded_http.REDIRECTS + 1}", follow_redirects=True)


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        ("mcp.internal", {("mcp.internal", None)}),
        ("MCP.internal.:8443, 10.0.0.7", {("mcp.internal", 8443), ("10.0.0.7", None)}),
        ("[fd00::1]:80 fd00::2", {("fd00::1", 80), ("fd00::2", None)}),
    ],
)
def test_the_operators_list_is_read(value, meaning):
    assert env.read({"COUNTERSIGN_PRIVATE_HOSTS": value}).private_hosts == meaning


@pytest.mark.parametrize("value", ["http://mcp.internal", "mcp.internal/path", "*.internal", "mcp:http", "a@b", ":80"])
def test_a_list_that_cannot_be_read_is_refused(value):
    with pytest.raises(ConfigError, match="COUNTERSIGN_PRIVATE_HOSTS"):
        env.read({"COUNTERSIGN_PRIVATE_HOSTS": value})
