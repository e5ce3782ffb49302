"""``python -m config.web.serve HOST PORT [--shared]``: a web server, alone on its port or one of several that share it.

One process of uvicorn, where granian keeps a second one of 20 MB beside its worker.
"""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable

import uvicorn

from config import env
from config.processes import part_heartbeat
from config.processes.loopback import get

GRACE_SECONDS = 3
"""For requests and streams that are open when a stop is asked for."""
BACKLOG = 2_048


def main(arguments: list[str]) -> None:
    """Serve until SIGTERM or SIGINT, and let what is open come to its end."""
    host, port, is_shared = arguments[0], int(arguments[1]), "--shared" in arguments[2:]
    sockets = [listening(host, port, is_shared=is_shared)]
    if is_shared:  # a request to the port may be answered by another: its heartbeat asks at a port of its own
        sockets.append(listening("127.0.0.1", 0, is_shared=False))
    server = uvicorn.Server(configuration())
    server.config.load()  # Django, and with it what the heartbeat asks for
    part_heartbeat.begin(answers(*sockets[-1].getsockname()[:2]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn raises it once more when it has stopped
    try:
        server.run(sockets=sockets)
    finally:
        part_heartbeat.end()
    if not server.started:
        sys.exit(3)


def configuration() -> uvicorn.Config:
    """The options of uvicorn."""
    return uvicorn.Config(
        "config.asgi:application",
        loop="asyncio",
        http="config.web.protocol:LimitedProtocol",
        proxy_headers=False,  # config.web.proxies believes those that a setting names; uvicorn believes 127.0.0.1
        ws="none",
        lifespan="off",
        access_log=False,
        server_header=False,
        log_level="warning",
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def listening(host: str, port: int, *, is_shared: bool) -> socket.socket:
    """A socket that listens. ``is_shared``: others on the same port get connections, too (Linux spreads them)."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    found = socket.socket(family, kind, protocol)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if is_shared:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    found.bind(address)
    found.listen(BACKLOG)
    return found


def answers(host: str, port: int) -> Callable[[], bool]:
    """Whether a request to that address is answered, whatever the answer: a thread alone would beat on while the event
    loop stands still.
    """
    return lambda: get(env.read().host or host, port, "/healthz")[0] > 0


if __name__ == "__main__":
    main(sys.argv[1:])
