"""Client of ``config.processes.fork_server`` in the supervisor: asks for a process, and becomes its parent."""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from config.processes.children import Child, Process, spawn
from config.processes.system import as_subreaper

ANSWER_SECONDS, ANSWER_BYTES = 5, 32


class ForkedProcess:
    """Child process that the fork server started, with the part of ``subprocess.Popen`` that the supervisor uses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """As Popen's: None while it runs."""
        return self._wait(os.WNOHANG)

    def wait(self) -> int:
        """As Popen's."""
        status = self._wait(0)
        assert status is not None  # without WNOHANG, waitpid(2) returns for a child that has ended
        return status

    def send_signal(self, number: int) -> None:
        """As Popen's: no signal to a process that has ended, because another may have its id by now."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _wait(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


class Forker:
    """A running ``fork_server``. Without it parts still start, each on its own, and take more memory."""

    def __init__(self, env: Mapping[str, str], logs: Path) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(ANSWER_SECONDS)
        module = ["config.processes.fork_server", str(theirs.fileno()), str(os.getpid())]
        self._child = Child("forker", module, env, logs, partial(spawn, pass_fds=(theirs.fileno(),)))
        with theirs:
            self._child.start()
        self._loaded = False

    def finished_loading(self) -> bool:
        """Whether it has loaded everything, or has ended. ``launch`` forks only after this was True once."""
        if not self._loaded and self.alive() and select.select([self._socket], [], [], 0)[0]:
            self._loaded = bool(self._socket.recv(ANSWER_BYTES))
        return self._loaded or not self.alive()

    def alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._child.alive()

    def launch(self, name: str, module: Sequence[str], env: Mapping[str, str], stdout: int, stderr: int) -> Process:
        """``Launch`` by fork; by ``spawn`` when the fork server has ended or does not answer."""
        request = json.dumps({"name": name, "module": list(module), "env": dict(env)}).encode()
        if self.finished_loading() and self._loaded and (pid := self._fork(request, [stdout, stderr])):
            return ForkedProcess(pid)
        self.stop()
        return spawn(name, module, env, stdout, stderr)

    def _fork(self, request: bytes, descriptors: list[int]) -> int:
        """The process id of our new child, or 0."""
        try:
            with as_subreaper():
                socket.send_fds(self._socket, [request], descriptors)
                return int(self._socket.recv(ANSWER_BYTES) or 0)
        except OSError:
            return 0

    def stop(self) -> None:
        """End the fork server; the processes that it has started go on."""
        self._loaded = False
        if self.alive():  # else another process may have its id by now
            self._child.kill()
