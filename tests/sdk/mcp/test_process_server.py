"""An MCP server that is a program does not outlive its client, whatever it does."""

from __future__ import annotations

import sys
import threading

import pytest
from countersign.mcp import process_server

STAYS = "import time\nprint('{}', flush=True)\nwhile True: time.sleep(1)"
ENDS = "import sys\nsys.stdin.read()\nsys.exit(3)"


@pytest.mark.parametrize("program", [STAYS, ENDS], ids=["stays", "ends"])
def test_it_ends_when_nobody_speaks_to_it_any_more(monkeypatch, program):
    monkeypatch.setattr(process_server, "PATIENCE", 0.3 if program is STAYS else 20)
    server, heard = process_server.ProcessServer([sys.executable, "-c", program]), []
    server.attach(heard.append)
    server.close()
    status = server.run()
    assert (status, heard) == ((-15, [b"{}\n"]) if program is STAYS else (3, []))


def test_a_server_that_reads_nothing_is_ended_too(monkeypatch):
    """The pipe to it is full, and whoever writes there waits."""
    monkeypatch.setattr(process_server, "PATIENCE", 0.3)
    server = process_server.ProcessServer([sys.executable, "-c", STAYS])
    server.attach(lambda line: None)
    writing = threading.Thread(target=server.send, args=({"text": "x" * 10_000_000},))
    writing.start()
    server.close()
    assert server.run() == -15
    writing.join(60)
    assert not writing.is_alive()
