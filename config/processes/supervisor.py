"""``manage.py up``: one process that starts everything, keeps it running, and stops it whole.

It imports neither Django nor Celery: it lives as long as the installation, in 12 MB instead of 60.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

from config import env
from config.database import postgres
from config.database.cluster import Cluster, make_data_dir
from config.database.sleepers import Sleepers
from config.env import ConfigError
from config.processes import parts
from config.processes.children import CANNOT_START, Child, Launch, spawn
from config.processes.fork_client import Forker
from config.processes.heartbeat_files import BEAT_SECONDS, SILENT_SECONDS, SUPERVISOR, HeartbeatFile, make_folder
from config.processes.loopback import ANY_ADDRESS, bracketed, get
from config.processes.parts import Part
from config.processes.system import open_lock, try_lock
from sessions_app.stop_signal import StopSignal

READY_SECONDS = 60
WELL_SECONDS = 20.0
"""So long the ready line waits for ``/readyz``: a broker that is away does not keep people from the pages."""
POLL_SECONDS = 0.2
STDERR = 2
OPTIONS = ("host", "port", "data_dir", "demo", "web", "workers")
DJANGO = {"DJANGO_SETTINGS_MODULE": "config.settings"}
AWAY_SECONDS = 5.0
"""A supervisor that has not looked for so long was away itself, and judges no heartbeat of that time."""
WARM_SECONDS = 4.0
"""Of the contract's 10 s from the signal: web and worker finish what they do, then lose it; a task comes again."""


class Stopped(Exception):
    """Raised in the main thread when a signal asks for a stop."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `up`."""
    add_address(parser)
    parser.add_argument("--web", type=int, default=parts.WEB, metavar="N", help="web servers (default %(default)s)")
    parser.add_argument(
        "--workers", type=int, default=parts.WORKERS, metavar="N", help="workers for imports (default %(default)s)"
    )
    parser.add_argument("--data-dir", help="where database, documents, keys and logs live (COUNTERSIGN_DATA_DIR)")
    parser.add_argument("--demo", action="store_true", help="load the example sessions that ship with the project")


def add_address(parser: argparse.ArgumentParser) -> None:
    """The options that say where to listen; without them the settings of these names do."""
    parser.add_argument("--host", help=f"address to listen on (COUNTERSIGN_HOST; default {env.HOST})")
    parser.add_argument(
        "--port", type=int, help=f"port to listen on (COUNTERSIGN_PORT; default {env.PORT}; 0: any free one)"
    )


def main(arguments: Sequence[str]) -> int:
    """`manage.py up ARGUMENTS`; the exit status. Raises ConfigError before anything has been started."""
    parser = argparse.ArgumentParser(prog="manage.py up", description="Starts everything and prints a ready line.")
    add_arguments(parser)
    options = parser.parse_args(arguments)
    return up(**vars(options))


def up(
    host: str | None,
    port: int | None,
    data_dir: str | None,
    demo: bool,
    web: int = parts.WEB,
    workers: int = parts.WORKERS,
) -> int:
    """Start everything and stay until a signal; 0 after a stop on request, 1 when a part would not start."""
    check_web_count("--web", web)
    parts.check_count("--workers", workers)
    environment = environment_of(host, data_dir)
    host, port = address(environment, port)
    make_data_dir(environment.data_dir)
    with open_lock(environment.data_dir / "up.lock") as lock:
        if not try_lock(lock):
            raise ConfigError(f"another `up` runs on {environment.data_dir}: stop it, or choose another --data-dir")
        return Supervisor(environment, host, free_port(host, port), demo, web, workers).run()


def environment_of(host: str | None, data_dir: str | None) -> env.Environment:
    """The settings, with what was said on the command line; our children find it in their environment, too."""
    told = {"COUNTERSIGN_HOST": host, "COUNTERSIGN_DATA_DIR": data_dir}
    os.environ |= {name: value for name, value in told.items() if value}
    environment = env.read()
    os.environ["COUNTERSIGN_DATA_DIR"] = str(environment.data_dir)  # the children stand in another directory
    return environment


def address(environment: env.Environment, port: int | None) -> tuple[str, int]:
    """Where to listen: the host of the settings, and the port of the command line or else of the settings."""
    return environment.host or env.HOST, environment.port if port is None else port


def check_web_count(option: str, count: int) -> None:
    """Raise ConfigError for a number of web servers that cannot share a port."""
    parts.check_count(option, count)
    if count > 1 and sys.platform != "linux":
        raise ConfigError(f"{option} {count}: only on Linux do several web servers share a port; use 1")


def free_port(host: str, port: int) -> int:
    """The port, when it can be bound; raises ConfigError when it is taken or the host is not ours."""
    if not 0 <= port <= 65535:
        raise ConfigError(f"port {port} is not a port: use 1 to 65535, or 0 for any free one")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return probe.getsockname()[1]
    except OSError as fault:
        raise ConfigError(f"cannot listen on {host} port {port}: {fault.strerror}; choose another --port") from fault


class Supervisor:
    """The processes of one installation."""

    def __init__(
        self,
        environment: env.Environment,
        host: str,
        port: int,
        demo: bool,
        web: int = parts.WEB,
        workers: int = parts.WORKERS,
    ) -> None:
        self.environment, self.host, self.port, self.demo = environment, host, port, demo
        self.web = parts.web(host, port, environment.data_dir, web)
        self.others = [*parts.scheduler(), *parts.workers(workers), *parts.turns(), *parts.people()]
        connections = parts.connections(web, workers)
        self.cluster = None if environment.database_url else Cluster(environment.data_dir, connections)
        self.server: postgres.Server | None = None
        self.children: list[Child] = []
        self.forker: Forker | None = None
        self._stop = StopSignal()
        self._looked_at = self._beat_at = self._database_answered_at = time.monotonic()
        self._database_asked_at = 0.0
        self._sleepers = Sleepers()
        self.name, self.preparation = SUPERVISOR, ["--demo"] if demo else []
        self._said = ""
        """Why PostgreSQL does not start, as it was printed last."""

    def run(self) -> int:
        """Start, announce, watch; whatever happens, nothing that was started here stays."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, lambda *_: self._stop.set())
        self._clear()
        with ExitStack() as stack:
            # Elsewhere nobody can adopt, and a fork without exec may crash (macOS); one part has nobody to share with.
            if sys.platform == "linux" and len(self.web) + len(self.others) > 1:
                self.forker = Forker(DJANGO, self._logs, self._heartbeat(self.name.replace(SUPERVISOR, "forker")))
                stack.callback(self.forker.stop)
            if self.cluster:
                stack.enter_context(postgres.in_use(self.cluster))
                self.server = postgres.revive(self.cluster)
                stack.callback(self._stop_server)
            stack.callback(self._stop_children)
            try:
                return self._serve()
            except Stopped:
                return 0

    def _serve(self) -> int:
        """Serve until ``Stopped``; the exit status when a part would not start, 2 where it has said why in a line."""
        self._await_forker()
        status, said = self._prepare()
        if not said:
            return status or 1
        if self.web and not self._serve_pages():
            return 1
        for part in self.others:  # not earlier: on a busy machine they would take the first page's time
            self._start(self._child(part))
        if self.web and self.others:
            self._await_well()
        if (
            self.web
            and self.host in ANY_ADDRESS
            and not (self.environment.allowed_hosts or self.environment.public_url)
        ):
            print_line("other machines get 400 until ALLOWED_HOSTS names the host that they use")
        self._announce(said)
        self._watch()

    def _clear(self) -> None:
        """Forget the heartbeats of an earlier start."""
        make_folder(self.environment.data_dir)

    def _announce(self, said: str) -> None:
        """Print the line that says that all is served; ``said`` is the path of the sign-in link."""
        print(f"ready {self.address}/ sign in: {self.address}{said}", flush=True)

    def _serve_pages(self) -> bool:
        """Start the web servers; whether the first page came. Otherwise a line has said why not."""
        for part in self.web:
            self._start(self._child(part))
        fault = self._first_page_fault()
        if fault:
            print_line(f"{fault}: see {self._logs / f'{self.web[0].name}.log'}")
        return fault is None

    def _await_well(self) -> None:
        """Wait until every part works and a scheduler leads, as ``/readyz`` says, or say that not all do."""
        deadline = time.monotonic() + WELL_SECONDS
        while self._status("/readyz") != 200:
            if time.monotonic() > deadline:
                print_line(f"not all parts work yet: {self.address}/readyz names what does not")
                return
            self._pause()
            self._keep_running()

    def _watch(self) -> NoReturn:
        while True:
            self._pause()
            self._keep_running()

    def _prepare(self) -> tuple[int, str]:
        """Run ``prepare`` in a process of its own, which frees its memory; its exit status and its last line."""
        module = ["manage", "prepare", *self.preparation]
        ours, theirs = os.pipe()
        with os.fdopen(ours) as output:
            try:
                preparing = self._launch("prepare", module, DJANGO, theirs, STDERR)
            finally:
                os.close(theirs)
            try:
                while preparing.poll() is None:
                    self._pause(0.02)
            finally:
                preparing.send_signal(signal.SIGKILL)
                preparing.wait()
            lines = output.read().splitlines()
        return preparing.returncode or 0, lines[-1] if preparing.returncode == 0 and lines else ""

    @property
    def _launch(self) -> Launch:
        return self.forker.launch if self.forker else spawn

    def _await_forker(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while self.forker and not self.forker.finished_loading() and time.monotonic() < deadline:
            self._pause(0.02)

    def _start(self, child: Child) -> None:
        self.children.append(child)
        if child.heartbeat:
            child.heartbeat.beat()  # it has as long as any heartbeat to show its own
        child.start()

    def _child(self, part: Part) -> Child:
        own = {"COUNTERSIGN_PART": part.name, "COUNTERSIGN_PORT": str(self.port)}
        return Child(
            part.name, part.module, {**DJANGO, **own, **part.env}, self._logs, self._launch, self._heartbeat(part.name)
        )

    def _heartbeat(self, part: str) -> HeartbeatFile:
        return HeartbeatFile(self.environment.data_dir, part)

    def _keep_running(self) -> None:
        now = time.monotonic()
        if now - self._looked_at > AWAY_SECONDS:
            self._database_answered_at = now
            for child in self.children:
                child.pardon()
        if self.forker:
            self.forker.keep_running()
        if self.cluster and self.server:
            self._keep_server(self.cluster, self.server, now)
        for child in self.children:
            child.keep_running()
        self._looked_at = time.monotonic()
        if self._looked_at - self._beat_at > BEAT_SECONDS:
            self._beat_at = self._looked_at
            self._heartbeat(self.name).beat()

    def _keep_server(self, cluster: Cluster, server: postgres.Server, now: float) -> None:
        """Start PostgreSQL again when it has ended, or does not even say whether it speaks TLS."""
        if server.alive() and now - self._database_asked_at > BEAT_SECONDS:
            self._database_asked_at = now
            for name in self._sleepers.wake(server.pid, now):
                print_line(f'"{name}" was stopped for {SILENT_SECONDS:.0f} s; it is told to go on')
            if postgres.answers(cluster):
                self._database_answered_at = now
                self._heartbeat("postgres").beat()
            elif now - self._database_answered_at > SILENT_SECONDS:
                print_line(f"PostgreSQL has not answered for {SILENT_SECONDS:.0f} s; it is killed")
                server.kill()
        if not server.alive():
            if not self._said:
                print_line("PostgreSQL has ended; starting it again")
            self._revive(cluster)
            self._database_answered_at = time.monotonic()

    def _revive(self, cluster: Cluster) -> None:
        """A server that was killed can leave processes that hold its memory for a moment: not yet is not never."""
        try:
            self.server = postgres.revive(cluster)
            self._said = ""
        except (ConfigError, *CANNOT_START) as fault:
            if self._said != str(fault):  # a full disk stays full for hours: once is enough
                self._said = str(fault)
                print_line(self._said)
            self._pause(1)

    def _first_page_fault(self) -> str | None:
        """Wait for the first page: None when it comes, else why not (a 4xx or 5xx is final)."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            status = self._status("/healthz") and self._status("/")
            if status:
                return None if status < 400 else f"the first page answers {status}"
            self._pause(0.05)
            self._keep_running()
        return f"the web server did not answer within {READY_SECONDS} s"

    def _status(self, path: str, hops: int = 3) -> int:
        """The page's status, over at most ``hops`` redirections within the site; 0 while nobody answers."""
        status, location = get(self.host, self.port, path)
        return self._status(location, hops - 1) if 300 <= status < 400 and hops else status

    def _pause(self, seconds: float = POLL_SECONDS) -> None:
        if self._stop.wait(seconds):
            raise Stopped

    def _stop_server(self) -> None:
        if self.server:  # the one that runs now: it may have been started again
            self.server.stop()

    def _stop_children(self) -> None:
        """SIGTERM, and after a while the end of every process group."""
        for child in self.children:
            child.signal(signal.SIGTERM)
        postgres.wait_until(lambda: not any(child.alive() for child in self.children), WARM_SECONDS)
        for child in self.children:
            child.kill()
        self.children = []

    @property
    def address(self) -> str:
        return f"http://{bracketed(self.host)}:{self.port}"

    @property
    def _logs(self) -> Path:
        return self.environment.data_dir / "logs"


def print_line(message: str) -> None:
    """Print one line for the person at the terminal."""
    print(f"countersign: {message}", file=sys.stderr, flush=True)
