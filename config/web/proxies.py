"""Reverse proxies that a setting names: what they say of the client is believed, what anybody else says is not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from django.conf import settings

from config.web.asgi import Application, Receive, Scope, Send

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

FORWARDED = (b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"x-forwarded-port", b"forwarded")


def address(text: str) -> Address | None:
    """An address without its port; an IPv4 address that is written as IPv6 is the IPv4 one. None when it is none."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:  # 192.0.2.1:4711
        text = text.partition(":")[0]
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


@lru_cache(maxsize=4_096)
def _is_within(text: str, networks: tuple[Network, ...]) -> bool:
    found = address(text)
    return found is not None and any(found in network for network in networks)


def is_trusted(text: str) -> bool:
    """Whether an address is a proxy of ours (``COUNTERSIGN_TRUSTED_PROXIES``)."""
    return bool(settings.TRUSTED_PROXIES) and _is_within(text, settings.TRUSTED_PROXIES)


class ForwardedHeaders:
    """ASGI middleware: client and scheme as a trusted proxy tells them; from anybody else the headers are dropped.

    Of ``X-Forwarded-For`` the last address that is no proxy of ours counts: those before it were written by the client.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            said = {name: value for name, value in scope["headers"] if name in FORWARDED[:2]}
            named = [value for name, value in scope["headers"] if name == FORWARDED[0]]
            headers = scope["headers"]
            scope = {**scope, "headers": [header for header in scope["headers"] if header[0] not in FORWARDED]}
            # Dropped is not unsaid: what a proxy passed on does not come from this machine (config.metrics).
            scope["forwarded"] = any(name in FORWARDED for name, _ in headers)
            client = scope.get("client")
            if client and is_trusted(client[0]):
                scope["client"] = (_client(client[0], named), 0)
                if said.get(FORWARDED[1], b"").split(b",")[-1].strip().lower() == b"https":
                    scope["scheme"] = "https"
        await self.application(scope, receive, send)


def _client(proxy: str, forwarded: Sequence[bytes]) -> str:
    """The client's address by the lines of ``X-Forwarded-For``; the nearest proxy's where they name none."""
    nearest = proxy
    for said in reversed(b",".join(forwarded).decode("latin-1").split(",")):
        found = address(said)
        if found is None:
            break
        nearest = str(found)
        if not is_trusted(nearest):
            break
    return nearest
