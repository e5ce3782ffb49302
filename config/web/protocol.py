"""uvicorn's HTTP protocol with limits on what a client may send before Django hears of it: ``uvicorn --http``.

uvicorn's own has none: a header may be of any size (one of 100 MB kept the event loop busy for 34 s), and a request
that is half sent stays open for ever. The limits are those of Apache's mod_reqtimeout, and its numbers.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from config.web.descriptors import most_connections
from config.web.proxies import is_trusted
from config.web.refusals import Refusal

HEADER_BYTES = 65_536
"""Of the request line and all headers; also of trailers and extensions of chunks without a byte of body between."""
HEADER_SECONDS = 10.0
"""From the connection, or from the first byte behind an answer, to the end of the headers."""
BODY_SECONDS, BODY_BYTES_A_SECOND = 20.0, 500
"""A body is looked at so often, and has to have come so fast since the last look."""
WRITE_SECONDS = 60.0
"""So long a client may take to read the 64 kB that are kept for it."""
LINGER_SECONDS = 2.0
"""What comes after a refusal is read and thrown away for so long: a reset would take the answer from the client."""
WAITING_EACH = 256
"""Connections of one address on which no request is complete; the oldest is closed for one more."""
GRACE_SECONDS = 1.0
"""But not one that is younger than this: after a restart hundreds of readers connect in the same moment."""
CONNECTIONS_EACH = 2_000
"""Connections of one address, with those that are being answered: streams, mostly."""

TOO_LONG = Refusal(431, f"the headers are longer than the {HEADER_BYTES:,} bytes that this server takes")
HEADER_LATE = Refusal(408, f"the headers were not complete within {HEADER_SECONDS:.0f} seconds; send the request again")
BODY_LATE = Refusal(408, f"the body came slower than {BODY_BYTES_A_SECOND} bytes a second; send the request again")
TOO_MANY = Refusal(429, "your address has too many connections to this server; close some", retry_after=5)
FULL = Refusal(503, "the server has no connection left; try again in a moment", retry_after=5)


class Connections:
    """Connections of one server by address, and those on which it waits for a request, the oldest first."""

    def __init__(self) -> None:
        self.count = 0
        self.each: dict[str, int] = {}
        self.waiting: dict[str, OrderedDict[LimitedProtocol, None]] = {}

    def add(self, address: str) -> None:
        self.count += 1
        self.each[address] = self.each.get(address, 0) + 1

    def remove(self, protocol: LimitedProtocol, address: str) -> None:
        self.not_waiting(protocol, address)
        self.count -= 1
        self.each[address] -= 1
        if not self.each[address]:
            del self.each[address]

    def now_waiting(self, protocol: LimitedProtocol, address: str) -> None:
        self.waiting.setdefault(address, OrderedDict())[protocol] = None

    def not_waiting(self, protocol: LimitedProtocol, address: str) -> None:
        waiting = self.waiting.get(address)
        if waiting is not None:
            waiting.pop(protocol, None)
            if not waiting:
                del self.waiting[address]

    def oldest_waiting(self, address: str) -> LimitedProtocol | None:
        return next(iter(self.waiting.get(address, ())), None)


_connections: WeakKeyDictionary[ServerState, Connections] = WeakKeyDictionary()


class LimitedProtocol(HttpToolsProtocol):
    """One connection. It waits for a request, reads its body, and answers; each of the first two has its clock."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._known = _connections.setdefault(self.server_state, Connections())
        self._address = ""
        self._counted = False
        self.waits_since = 0.0
        """When it began to wait for a request, by the loop's clock."""
        self._in_headers = True
        self._ended_now = False
        """Whether a request has come to its end within the bytes that came last."""
        self._refused = False
        self._header_bytes = 0
        self._without_body = 0
        """Bytes since the last one of the body: framing, extensions and trailers of chunks."""
        self._body_bytes = 0
        self._clock: asyncio.TimerHandle | None = None
        self._write_clock: asyncio.TimerHandle | None = None

    # connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        self._counted = True
        self._known.add(self._address)
        self._wait_for_request()
        self._set_clock(HEADER_SECONDS, self._header_late)
        self._make_room()

    def _make_room(self) -> None:
        """Close the oldest connection that waits, for this one; refuse this one when none does."""
        address, known = self._address, self._known
        of_proxy = not address or is_trusted(address)
        too_many = not of_proxy and known.each[address] > CONNECTIONS_EACH
        full = known.count > most_connections()
        waits_too_many = not of_proxy and len(known.waiting[address]) > WAITING_EACH
        if not (too_many or full or waits_too_many):
            return
        oldest = known.oldest_waiting(address)
        if oldest is not None and self.waits_since - oldest.waits_since >= GRACE_SECONDS:
            oldest.give_way()
        elif too_many or full:
            self._refuse(TOO_MANY if too_many else FULL)

    def give_way(self) -> None:
        """Close for a newer connection of the same address."""
        self._stop_clock()
        self._header_late()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        self._stop_write_clock()
        if self._counted:
            self._counted = False
            self._known.remove(self, self._address)
        super().connection_lost(exc)

    # what comes in

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._without_body += len(data)
        self._ended_now = False
        if self._in_headers and self._clock is None:
            self._set_clock(HEADER_SECONDS, self._header_late)
        super().data_received(data)
        if self._refused or self.transport.is_closing():
            return
        if self._in_headers and not self._ended_now:  # else what came is the end of a body, up to 256 kB of it
            self._header_bytes += len(data)
            if self._header_bytes > HEADER_BYTES:
                self._refuse(TOO_LONG)
        elif self._without_body > HEADER_BYTES and self._clock is not None:
            self._refuse(TOO_LONG)

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > HEADER_BYTES:
            self._refuse(TOO_LONG)
        if self._refused:
            return
        self._in_headers = False
        self._known.not_waiting(self, self._address)
        self._body_bytes = self._without_body = 0
        self._set_clock(BODY_SECONDS, self._look_at_body)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self._refused:
            return
        self._body_bytes += len(body)
        self._without_body = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._refused:
            return
        self._stop_clock()
        self._ended_now = True
        self._in_headers, self._header_bytes = True, 0  # of the next request, which may come behind this one
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.pipeline and not self.transport.is_closing() and self._in_headers:
            self._wait_for_request()

    def _wait_for_request(self) -> None:
        self.waits_since = self.loop.time()
        if self._counted:
            self._known.now_waiting(self, self._address)

    # clocks

    def _set_clock(self, seconds: float, then: Callable[[], None]) -> None:
        self._stop_clock()
        self._clock = self.loop.call_later(seconds, then)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _header_late(self) -> None:
        self._clock = None
        if self._header_bytes:
            self._refuse(HEADER_LATE)
        else:  # a browser that connected ahead of time, or keeps a connection: nobody reads an answer
            self.transport.close()

    def _look_at_body(self) -> None:
        if self._body_bytes < BODY_SECONDS * BODY_BYTES_A_SECOND and not self.flow.read_paused:
            self._refuse(BODY_LATE)
            return
        self._body_bytes = 0
        self._set_clock(BODY_SECONDS, self._look_at_body)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_write_clock()
        self._write_clock = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_write_clock()
        super().resume_writing()

    def _stop_write_clock(self) -> None:
        if self._write_clock is not None:
            self._write_clock.cancel()
            self._write_clock = None

    # refusing

    def _refuse(self, refusal: Refusal) -> None:
        """Answer and close; what the client still sends is thrown away for a moment, so that it can read the answer."""
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        self._stop_clock()
        self._known.not_waiting(self, self._address)
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # Django stops working at it
            self.cycle.message_event.set()
        if self.cycle is not None and self.cycle.response_started and not self._in_headers:
            self.transport.close()  # the answer that has begun is the one to this request
            return
        self._unset_keepalive_if_required()
        self._write(refusal)
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def _write(self, refusal: Refusal) -> None:
        path = getattr(self, "url", b"").partition(b"?")[0].decode("latin-1")
        sent_as = dict(getattr(self, "headers", None) or []).get(b"content-type", b"").decode("latin-1")
        status, headers, body = refusal.answer(path, sent_as)
        lines = [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(b"".join([STATUS_LINE[status], *lines, b"\r\n", body]))
