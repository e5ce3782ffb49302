"""The three products: how each is started and sent to, how it says what it has, and where its pages are."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import psutil
import psycopg

from bench.live import manage
from bench.places import environment_of, run
from bench.start import Desk
from config.database.cluster import Cluster

from . import work

PATIENCE = 3_600
"""Seconds until everything that was sent must show."""
BUSY = (429, 503)
PAGES = ("list", "50 turns", "long session", "long trace")
HAS_LIST = "/order-0\\d+/.test(document.body?.innerText)"
HAS_ANSWER = "/Result/.test(document.body?.innerText)"
HAS_TOOL = "/execute_tool|read_ledger|find_valve|count_pallets|book_drone/.test(document.body?.innerText)"


class Product:
    """One that runs. ``pages`` gives of each of ``PAGES`` its address and what is true once its content shows."""

    words: Callable[[work.Span], work.Json] = staticmethod(work.genai)
    resource: work.Json = {}
    headers: dict[str, str] = {}
    traces = "/v1/traces"
    address: str
    sign_in = ""

    def send(self, bodies: list[bytes]) -> None:
        """Send in the manner of an exporter, which waits where it is asked to."""
        for body in bodies:
            while not self._taken(body):
                time.sleep(0.5)

    def _taken(self, body: bytes) -> bool:
        request = Request(f"{self.address}{self.traces}", body)
        for name, value in {"Content-Type": "application/x-protobuf", **self.headers}.items():
            request.add_header(name, value)
        try:
            urlopen(request, timeout=600).close()
        except HTTPError as error:
            if error.code not in BUSY:
                raise
            return False
        except URLError as error:
            if not isinstance(error.reason, ConnectionError):
                raise
            return False  # it said that it is busy and hung up before it had read the body
        return True

    def wait_for(self, spans: int) -> None:
        """Until so many show."""
        until = time.monotonic() + PATIENCE
        while (count := self.count()) < spans:
            assert time.monotonic() < until, f"{type(self).__name__} shows {count} of {spans}"
            time.sleep(0.5)

    def count(self) -> int:
        raise NotImplementedError

    def pages(self, trace: str, middle: str) -> Iterator[tuple[str, str]]:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError


class Ours(Product):
    """This desk, as ``up`` runs it."""

    traces = "/api/v1/otlp/v1/traces"

    def __init__(self, data_dir: Path) -> None:
        self._desk, self._data_dir = Desk(data_dir), data_dir
        self.sign_in = self._desk.link
        self.address = "/".join(self.sign_in.split("/")[:3])
        key = manage(data_dir, "apikey", "create", "--name", "bench", "--role", "agent").split()[-1]
        self.headers = {"Authorization": f"Bearer {key}"}

    def count(self) -> int:
        """Spans that were told as events. Over a connection of the benchmark's own, as MLflow's are counted: a process
        that starts Django for each look took a whole core from the desk while it was measured.
        """
        with psycopg.connect(**Cluster(self._data_dir).parameters) as owner:  # type: ignore[arg-type]
            row = owner.execute("SELECT coalesce(sum(spans), 0) FROM vcon_app_spanpiece WHERE round > 0").fetchone()
        assert row is not None
        return int(row[0])

    def pages(self, trace: str, middle: str) -> Iterator[tuple[str, str]]:
        names = (middle, work.LONG_SESSION, work.LONG_TRACE)
        said = self._asked(
            "from django.urls import reverse; from vcon_app.models import SpanStream\n"
            f"for name in {names!r}:\n"
            "    session = SpanStream.objects.get(name=name).session\n"
            "    print(reverse('session-detail', args=[session.agent_id, session.pk]))"
        )
        yield "/sessions/", HAS_LIST
        yield from zip(said.splitlines(), (HAS_ANSWER, HAS_ANSWER, HAS_TOOL), strict=True)

    def _asked(self, program: str) -> str:
        return run(environment_of(self._data_dir), "-c", f"import django; django.setup(); {program}")

    def stop(self) -> None:
        self._desk.stop()


class Peer(Product):
    """One that is installed in an environment of its own, in ``venv``."""

    health: str

    def __init__(self, venv: Path, data_dir: Path) -> None:
        data_dir.mkdir(parents=True, exist_ok=True)
        self.venv, self.data_dir = venv, data_dir
        path = f"{venv}/bin:{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "DO_NOT_TRACK": "true", **self.variables()}
        with (data_dir / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(), cwd=data_dir, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        try:
            self._wait_until_it_answers()
        except BaseException:
            self.stop()
            raise

    def command(self) -> list[str]:
        raise NotImplementedError

    def variables(self) -> dict[str, str]:
        return {}

    def _wait_until_it_answers(self) -> None:
        for _ in range(600):
            try:
                urlopen(f"{self.address}{self.health}", timeout=5).close()
            except (URLError, ConnectionError, TimeoutError):
                time.sleep(0.5)
            else:
                return
            finally:  # and not another one that has its port
                assert self._process.poll() is None, f"it ended; see {self.data_dir}/server.log"
        raise TimeoutError(self.address)

    def stop(self) -> None:
        family = psutil.Process(self._process.pid).children(recursive=True)
        self._process.send_signal(signal.SIGTERM)
        for process in psutil.wait_procs(family, timeout=15)[1]:
            process.kill()
        self._process.wait()


class Phoenix(Peer):
    """Arize Phoenix with its own SQLite."""

    words = staticmethod(work.openinference)
    resource = {"openinference.project.name": "default"}
    address, health = "http://127.0.0.1:16106", "/healthz"

    def command(self) -> list[str]:
        return [f"{self.venv}/bin/phoenix", "serve"]

    def variables(self) -> dict[str, str]:
        return {
            "PHOENIX_WORKING_DIR": str(self.data_dir), "PHOENIX_PORT": "16106", "PHOENIX_GRPC_PORT": "14417",
            "PHOENIX_HOST": "127.0.0.1", "PHOENIX_TELEMETRY_ENABLED": "false",
            "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
        }  # fmt: skip

    def count(self) -> int:
        return self._project()["recordCount"]

    def _project(self) -> Any:
        edges = self._asked("{projects{edges{node{id name recordCount}}}}")["projects"]["edges"]
        return next(edge["node"] for edge in edges if edge["node"]["name"] == "default")

    def _asked(self, query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = Request(f"{self.address}/graphql", body, {"Content-Type": "application/json"})
        with urlopen(request, timeout=600) as answer:
            return json.load(answer)["data"]

    def pages(self, trace: str, middle: str) -> Iterator[tuple[str, str]]:
        project = self._project()["id"]
        ids = dict(self._sessions(project))
        has_answer = f"{HAS_ANSWER} && document.body.innerText.length > 4000"
        yield f"/projects/{project}/sessions", HAS_LIST
        for name in (middle, work.LONG_SESSION):
            yield f"/projects/{project}/sessions/{ids[name]}", has_answer
        yield f"/projects/{project}/traces/{trace}", HAS_TOOL

    def _sessions(self, project: str) -> Iterator[tuple[str, str]]:
        query = """query($id: ID!, $after: String) { node(id: $id) { ... on Project {
            sessions(first: 100, after: $after) {
                pageInfo { endCursor hasNextPage } edges { node { id sessionId } } } } } }"""
        after, more = None, True
        while more:
            found = self._asked(query, id=project, after=after)["node"]["sessions"]
            yield from ((edge["node"]["sessionId"], edge["node"]["id"]) for edge in found["edges"])
            after, more = found["pageInfo"]["endCursor"], found["pageInfo"]["hasNextPage"]


class MLflow(Peer):
    """The tracing server of MLflow with its own SQLite."""

    headers = {"x-mlflow-experiment-id": "0"}
    address, health = "http://127.0.0.1:15150", "/health"

    def command(self) -> list[str]:
        patient = "--timeout-worker-healthcheck 120"  # on a busy machine its workers start for longer than the 5 s
        port = self.address.split(":")[-1]
        return [f"{self.venv}/bin/mlflow", "server", "--port", port, "--uvicorn-opts", patient]

    def variables(self) -> dict[str, str]:
        return {"MLFLOW_DISABLE_TELEMETRY": "true"}

    def count(self) -> int:
        with closing(sqlite3.connect(f"file:{self.data_dir}/mlflow.db?mode=ro", uri=True, timeout=60)) as database:
            return database.execute("SELECT count(*) FROM spans").fetchone()[0]

    def pages(self, trace: str, middle: str) -> Iterator[tuple[str, str]]:
        here = "/#/experiments/0"
        yield f"{here}/traces?groupBy=session", HAS_LIST.replace("/.test", "|long-/.test")
        for name in (middle, work.LONG_SESSION):
            yield f"{here}/chat-sessions/{quote(name)}", HAS_ANSWER
        yield f"{here}/traces?selectedEvaluationId=tr-{trace}", HAS_TOOL
