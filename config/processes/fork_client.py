"""Client of ``config.processes.fork_server`` in the supervisor: asks for a process, and becomes its parent."""

from __future__ import annotations

import json
import logging
import os
import select
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from config.processes.children import CANNOT_START, SETTLED_SECONDS, Child, Process, spawn
from config.processes.heartbeat_files import BEAT_SECONDS, SILENT_SECONDS, HeartbeatFile
from config.processes.system import as_subreaper

log = logging.getLogger(__name__)
ANSWER_SECONDS, ANSWER_BYTES = 5, 32
ARE_YOU_THERE = b"?"
LOADING_SECONDS = 60.0
LONGEST_PAUSE = 600.0
"""Between two tries of a fork server that cannot load: each takes a second of a processor."""


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
    """The ``fork_server``. Without it parts still start, each on its own, and take more memory."""

    def __init__(self, env: Mapping[str, str], logs: Path, heartbeat: HeartbeatFile | None = None) -> None:
        self._child = Child("forker", [], env, logs, self._spawn)
        self._heartbeat = heartbeat
        self._restarts = 0
        self._begin()

    def _begin(self) -> None:
        self._socket, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(ANSWER_SECONDS)
        self._child.module = ["config.processes.fork_server", str(self._theirs.fileno()), str(os.getpid())]
        with self._theirs:
            self._child.start()
        self._loaded, self._asked_at = False, 0.0
        self._began = self._heard = time.monotonic()
        if self._heartbeat and self._heartbeat.beaten_at():  # started again: nobody misses it while it loads
            self._heartbeat.beat()

    def _spawn(self, name: str, module: Sequence[str], env: Mapping[str, str], stdout: int, stderr: int) -> Process:
        return spawn(name, module, env, stdout, stderr, pass_fds=(self._theirs.fileno(),))

    def finished_loading(self) -> bool:
        """Whether it has loaded everything, or has ended. ``launch`` forks only after this was True once."""
        if not self._loaded and self.alive() and select.select([self._socket], [], [], 0)[0]:
            self._loaded = bool(self._socket.recv(ANSWER_BYTES))
            self._hear()
        return self._loaded or not self.alive()

    def alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._child.alive()

    def keep_running(self) -> None:
        """Start it again when it has ended, or does not answer. One that cannot load is tried ever more seldom."""
        now = time.monotonic()
        if self.alive():
            self._ask(now)
            if (self._asked_at and now - self._asked_at > SILENT_SECONDS) or self._loads_too_long(now):
                self.stop()
        elif now - self._began > min(2.0 ** min(self._restarts, 10) - 1, LONGEST_PAUSE):
            self._restarts = 0 if now - self._began > SETTLED_SECONDS else self._restarts + 1
            self._socket.close()
            self._began = now
            try:
                self._begin()
            except CANNOT_START as fault:
                log.error("the fork server cannot be started: %s", fault)

    def _loads_too_long(self, now: float) -> bool:
        return not self._loaded and now - self._began > LOADING_SECONDS

    def _ask(self, now: float) -> None:
        """Send a request without content, which it answers at once, and look for the answer to the last one."""
        if not self.finished_loading() or not self._loaded:
            return
        try:
            if self._asked_at and select.select([self._socket], [], [], 0)[0]:
                self._take_answer()
            elif not self._asked_at and now - self._heard > BEAT_SECONDS:
                self._socket.send(ARE_YOU_THERE)
                self._asked_at = now
        except OSError:
            self.stop()

    def _take_answer(self) -> None:
        if self._socket.recv(ANSWER_BYTES):
            self._asked_at = 0.0
            self._hear()

    def _hear(self) -> None:
        self._heard = time.monotonic()
        if self._heartbeat:
            self._heartbeat.beat()

    def launch(self, name: str, module: Sequence[str], env: Mapping[str, str], stdout: int, stderr: int) -> Process:
        """``Launch`` by fork; by ``spawn`` when the fork server has ended or does not answer."""
        request = json.dumps({"name": name, "module": list(module), "env": dict(env)}).encode()
        if self.alive() and self.finished_loading() and self._loaded and (pid := self._fork(request, [stdout, stderr])):
            return ForkedProcess(pid)
        if self._loaded:  # one that still loads is not asked, and goes on
            self.stop()
        return spawn(name, module, env, stdout, stderr)

    def _fork(self, request: bytes, descriptors: list[int]) -> int:
        """The process id of our new child, or 0."""
        try:
            if self._asked_at:
                self._take_answer()
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
