"""An MCP server that is a program: one message a line on its standard input and output."""

from __future__ import annotations

import shlex
import subprocess
import threading
from collections.abc import Callable

from .messages import Json, line_of

PATIENCE = 5.0
"""Seconds for the server to end when nobody speaks to it any more."""


class ProcessServer:
    """Starts the program. Raises ``OSError``."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.name = command[0].replace("\\", "/").rpartition("/")[2]
        self.place = shlex.join(command)
        self._writing = threading.Lock()
        self._deliver: Callable[[bytes], None] = lambda line: None

    def attach(self, deliver: Callable[[bytes], None]) -> None:
        """Where what the server says goes to, line by line."""
        self._deliver = deliver

    def run(self) -> int:
        """Until the server ends; its exit status."""
        assert self._process.stdout
        for line in self._process.stdout:
            self._deliver(line)
        self.close()
        return self._process.wait()

    def send(self, message: Json, headers: dict[str, str] | None = None) -> None:
        """Lost where the server is gone: ``run`` ends then."""
        assert self._process.stdin
        with self._writing:
            try:
                self._process.stdin.write(line_of(message))
                self._process.stdin.flush()
            except (BrokenPipeError, ValueError):
                return

    def close(self) -> None:
        """No more messages: the server is to end, and is ended where it does not."""
        assert self._process.stdin
        if self._writing.acquire(timeout=PATIENCE):  # else it reads nothing any more
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                return  # it went first
            finally:
                self._writing.release()
        threading.Thread(target=self._end, daemon=True).start()

    def _end(self) -> None:
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.terminate()
