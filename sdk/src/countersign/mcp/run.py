"""The commands ``mcp-gateway`` and ``mcp-permission``, from what their command lines say."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

from ..client import Client, NotConfigured
from ..holding import Desk
from .gateway import Gateway
from .permission_prompt import PermissionPrompt
from .process_server import ProcessServer
from .remote_server import RemoteServer
from .server import Server

USAGE = "say which MCP server: mcp-gateway -- COMMAND ARGUMENT..., or mcp-gateway -- https://HOST/PATH"


def gateway(options: Any) -> int:
    """Serve until the client or the server goes; the status of the server."""
    words = options.server_command[1:] if options.server_command[:1] == ["--"] else options.server_command
    try:
        client = Client(agent=options.agent)
        server = _server(words, options.header)
    except NotConfigured as error:
        return _fault(f"{error}; the server was not started")
    except ValueError as error:
        return _fault(str(error))
    except OSError as error:
        return _fault(f"{words[0]} cannot be started: {error}")
    name = options.server or server.name
    served = Gateway(client, server, sys.stdout.buffer, name=name, hold=options.hold, patience=options.round)
    # not sys.stdin: the interpreter aborts at its end while somebody reads that
    given = open(os.dup(0), "rb")  # noqa: SIM115, PTH123 - until the process ends
    threading.Thread(target=served.requests, args=(given,), daemon=True).start()
    status = server.run()
    served.close()
    return status


def permission(options: Any) -> int:
    """Serve until the client goes."""
    try:
        Desk()
    except ValueError as error:
        return _fault(str(error))
    for number in (signal.SIGINT, signal.SIGTERM):  # how Claude Code ends its servers
        signal.signal(number, lambda *_: sys.exit(0))
    PermissionPrompt(options.agent, sys.stdout.buffer, options.hold).serve(sys.stdin.buffer)
    return 0


def _server(words: list[str], headers: list[str]) -> Server:
    """Raises ``ValueError`` or ``OSError``."""
    if not words:
        raise ValueError(USAGE)
    if not words[0].startswith(("http://", "https://")):
        if headers:
            raise ValueError("--header is for a server at an address")
        return ProcessServer(words)
    if len(words) > 1:
        raise ValueError(f"an address has no arguments, and {words[1]} is one")
    return RemoteServer(words[0], dict(map(_header, headers)))


def _header(written: str) -> tuple[str, str]:
    """Name and value of a header whose value is in a variable: command lines are seen by everybody on a machine."""
    name, separator, variable = written.partition("=")
    value = os.environ.get(variable)
    if not separator or not name or value is None:
        raise ValueError(f"--header {written}: write it as NAME=VARIABLE, with the value in that variable")
    if not value.isascii() or not value.isprintable():
        raise ValueError(f"--header {written}: what is in {variable} cannot be a header")
    return name, value


def _fault(message: str) -> int:
    print(f"countersign: {message}", file=sys.stderr)
    return 2
