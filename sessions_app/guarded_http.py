"""HTTP to addresses that members name: into public networks alone, unless the operator lists the host.

Whoever may edit an agent, a program with a key among them, chooses where its MCP servers are, and the workers ask from
inside the operator's network. So each address that a name leads to is looked at after it was resolved and before a
connection is made to that very address: a name that leads elsewhere the next time changes nothing, and it is the same
for numbers in odd forms (``2130706433``, ``0x7f.1``), for redirects, and for every connection that is made anew.

``COUNTERSIGN_PRIVATE_HOSTS`` lists exceptions. It is the operator's: an admin of one workspace has no say about a
network that belongs to all of them. Proxies of the environment are not used, since they would resolve names themselves.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import anyio
import httpcore2
import httpx2
from django.conf import settings

REDIRECTS = 3
TIMEOUT = httpx2.Timeout(30.0, read=300.0)
"""Seconds; a server may hold a stream of events open."""
GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
"""What IANA hands out of IPv6; everything else is local, reserved, or leads to an IPv4 address (RFC 4291)."""
MOST_BYTES = 16 * 1024 * 1024
"""Of one answer. A stream of events is not counted: it may go on for days, and its reader counts each event."""
PROTOCOLS = ipaddress.ip_network("192.0.0.0/24")
"""IPv4 addresses of protocols (RFC 6890), of which Python before 3.11.10 takes the most for global."""
NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""An IPv4 address in the last 32 bits (RFC 6052)."""


class PrivateAddress(OSError):
    """A host that leads into a private network and is not listed. The message does not say which address it has."""


def is_public(address: str) -> bool:
    """Whether an IP address is one of the open Internet, also when it is an IPv4 address inside an IPv6 one."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv4Address):
        return ip.is_global and not ip.is_multicast and ip not in PROTOCOLS
    if ip in NAT64:
        return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
    if ip.sixtofour:
        return is_public(str(ip.sixtofour))
    return ip in GLOBAL_UNICAST and ip.is_global


def is_listed(host: str, port: int) -> bool:
    """Whether the operator lists the host, for this port or for all."""
    name = host.lower().rstrip(".")
    return (name, None) in settings.PRIVATE_HOSTS or (name, port) in settings.PRIVATE_HOSTS


async def addresses_of(host: str, port: int) -> list[str]:
    """Addresses to connect to. Raises ``PrivateAddress`` when one of them is private, and OSError without any."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
    if not is_listed(host, port) and not all(map(is_public, addresses)):
        raise PrivateAddress(
            f"{host} leads into a private network; the operator of this installation can list it in "
            "COUNTERSIGN_PRIVATE_HOSTS"
        )
    return addresses


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connections for httpcore, made to addresses that were looked at."""

    def __init__(self) -> None:
        self._sockets = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address that answers. TLS is checked against the name: it is httpcore's next step."""
        try:
            with anyio.fail_after(timeout):
                addresses = await addresses_of(host, port)
        except TimeoutError:
            raise httpcore2.ConnectTimeout(f"the name {host} was not resolved in time") from None
        except socket.gaierror:
            raise httpcore2.ConnectError(f"the name {host} is not known") from None
        for address in addresses[:-1]:
            try:
                return await self._sockets.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue  # the last one's fault is the one that is told
        return await self._sockets.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await self._sockets.sleep(seconds)


class LimitedBody(httpx2.AsyncByteStream):
    """Body of an answer that ends with ``httpx2.ReadError`` beyond ``MOST_BYTES``, instead of filling the memory."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._body:
            read += len(part)
            if read > MOST_BYTES:
                raise httpx2.ReadError(f"the answer has more than {MOST_BYTES:,} bytes")
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """httpx's transport over ``GuardedBackend``, for which its own constructor has no argument."""

    def __init__(self) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(), network_backend=GuardedBackend()
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer as it came. Raises ``httpx2.ReadError`` for one that is compressed: 16 MB may unpack to 16 GB."""
        request.headers["Accept-Encoding"] = "identity"
        response = await super().handle_async_request(request)
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx2.ReadError("the answer is compressed, which was not asked for")
        if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
            response.stream = LimitedBody(response.stream)
        return response


def client(
    headers: dict[str, str], on_response: Callable[[httpx2.Response], Awaitable[None]] | None = None
) -> httpx2.AsyncClient:
    """Client that reaches public networks and listed hosts, over at most ``REDIRECTS`` redirects."""
    hooks = {"response": [on_response]} if on_response else {}
    return httpx2.AsyncClient(
        headers=headers, timeout=TIMEOUT, transport=GuardedTransport(), max_redirects=REDIRECTS, event_hooks=hooks
    )
