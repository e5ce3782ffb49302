"""The files for containers, walked without a container engine: ``python -m bench.composition [--python PREFIX]``

What Docker would do with them on a clone that somebody has just made, with chroot, overlays and a network of its own,
as root: each COPY, RUN and USER of the ``Dockerfile`` as it stands, then each service of ``compose.yaml`` with its
command, environment and secret, as the image's user, on a root that nobody may write to. Of others' images what speaks
the same: the wheel's PostgreSQL 18, Debian's ``rabbitmq-server``, and ``moto`` for S3.

Then an operator's day: ``prepare``, health checks before and after, a page and its style sheet, an import and a large
export that workers make, a part that is stopped. Exit status 1 when one of it fails. PREFIX: where the Python of the
image's version lies (unless given, the one that runs this).
"""

from __future__ import annotations

import argparse
import ctypes
import json
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import yaml

from config.processes.system import die_with_parent
from tests.services.files import transcript

from .measure import table
from .places import ROOT
from .two_hosts import RABBITMQ, answers, until

NEWNS, NEWNET = 0x00020000, 0x40000000
SECONDS = 120.0
HOSTS = "127.0.0.1 localhost postgres rabbitmq storage\n"
LARGE = 6_000
"""Events: over 5,000 a worker writes the export."""
SECRETS = ("SECRET_KEY", "POSTGRES_PASSWORD", "DESK_DATABASE_PASSWORD", "RABBITMQ_PASSWORD", "STORAGE_PASSWORD")


def main() -> int:
    """Walk everything; the exit status."""
    parser = argparse.ArgumentParser(prog="bench.composition", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", type=Path, default=Path(sys.base_prefix), help="prefix of the image's Python")
    options = parser.parse_args()
    if os.geteuid() or not RABBITMQ.exists():
        raise SystemExit("this needs root (for chroot and mounts) and Debian's rabbitmq-server")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends with it
    _unshare(NEWNS)
    _mount("--make-rprivate", "/")
    place = Path(tempfile.mkdtemp(prefix="countersign-composition-"))
    place.chmod(0o755)
    _mount("-t", "tmpfs", "-o", "mode=755", "composition", str(place))
    steps: list[tuple[str, str]] = []
    began = time.monotonic()
    try:
        for name, said in walk(place, options.python):
            steps.append((name, f"{time.monotonic() - began:.1f} s", said))
            began = time.monotonic()
    finally:
        subprocess.run(["umount", "--lazy", place], check=False)
        place.rmdir()
        print(table(["step", "took", "says"], steps))
    return 0


def walk(place: Path, python: Path) -> Iterator[tuple[str, str]]:
    """Each step by its name, with what it says. Raises at the first that fails."""
    clone = place / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, clone], check=True)
    yield "clone", subprocess.check_output(["git", "-C", clone, "log", "-1", "--format=%h"], text=True).strip()
    image = Image(place, clone)
    yield "build", image.build(python)
    _unshare(NEWNET)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with ExitStack() as ends:
        composition = Composition(place, clone, image)
        for name, start in (("postgres", _postgres), ("rabbitmq", _rabbitmq), ("storage", _storage)):
            ends.enter_context(start(composition))
            yield name, "answers"
        prepare = ends.enter_context(composition.container("prepare"))
        assert prepare.process.wait(SECONDS) == 0, prepare.said()
        link = re.search(r"\S*/sign-in/\S+", prepare.said())
        assert link, prepare.said()
        yield "prepare", "says a sign-in link"
        others = [name for name in composition.replicas() if name != "prepare"]
        containers = {name: ends.enter_context(composition.container(name)) for name in others}
        for name, container in containers.items():
            assert until(lambda one=container: one.is_well(), SECONDS), (name, container.said())
            yield name, "is well"
        yield from _use(containers["web"], link.group())
        for name, container in containers.items():
            yield f"stop {name}", container.stop(composition.grace)


class Image:
    """What the ``Dockerfile`` makes: a root over that of this machine."""

    def __init__(self, place: Path, clone: Path) -> None:
        self.place, self.clone = place, clone
        text = re.sub(r"\\\n\s*", "", (clone / "Dockerfile").read_text())
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        self.lines = [(word, rest.strip()) for word, rest in (line.split(maxsplit=1) for line in lines)]
        self.environment: dict[str, str] = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
        self.user, self.home, self.workdir = "0", "/root", "/"
        self.healthcheck: list[str] = []
        self.entrypoint: list[str] = []

    def build(self, python: Path) -> str:
        """Both stages; how large what it adds to this machine is."""
        stages: dict[str, Path] = {}
        root = self.place
        for word, rest in self.lines:
            if word == "FROM":
                name = rest.split(" AS ")[-1] if " AS " in rest else "image"
                root = stages[name] = self._stage(name, python)
                self.environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
            elif word == "ENV":
                for pair in shlex.split(rest):
                    key, value = pair.split("=", 1)
                    self.environment[key] = value.replace("$PATH", self.environment["PATH"])
            elif word == "COPY":
                self._copy(root, stages, rest)
            elif word == "RUN":
                # The settings of this machine's pip, where it has some: the index that it may ask.
                kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP"))}
                _in_root(root, ["sh", "-ec", rest], kept | self.environment)
            else:
                self._set(word, rest)
        added = self.place / "image.added"
        kilobytes = subprocess.check_output(["du", "-sk", added / "app", added / "venv", added / "var"], text=True)
        return f"{sum(int(line.split()[0]) for line in kilobytes.splitlines()) / 1024:.0f} MB, user {self.user}"

    def _set(self, word: str, rest: str) -> None:
        if word == "USER":
            self.user = rest
        elif word == "WORKDIR":
            self.workdir = rest
        elif word == "HEALTHCHECK":
            self.healthcheck = json.loads(rest.split("CMD", 1)[1])
        elif word == "ENTRYPOINT":
            self.entrypoint = json.loads(rest)
        else:
            assert word in ("EXPOSE", "STOPSIGNAL", "CMD"), f"what {word} does is not known here"

    def _stage(self, name: str, python: Path) -> Path:
        """A root of its own over this machine's, with the Python of the base image where that has it."""
        root = overlay(self.place, name, ["/"])
        # A base image knows nobody of this machine.
        for accounts in ("passwd", "shadow", "group", "gshadow"):
            lines = (root / "etc" / accounts).read_text().splitlines(keepends=True)
            (root / "etc" / accounts).write_text("".join(line for line in lines if not line.startswith("countersign:")))
        shutil.copytree(python, root / "usr/local", symlinks=True, dirs_exist_ok=True, ignore=_without_tests)
        _in_root(root, ["ldconfig"], self.environment)
        return root

    def _copy(self, root: Path, stages: dict[str, Path], rest: str) -> None:
        flags = dict(word[2:].split("=", 1) for word in rest.split() if word.startswith("--"))
        *sources, target = [word for word in rest.split() if not word.startswith("--")]
        came_from = stages[flags["from"]] if "from" in flags else self.clone
        for source in sources:
            path, to = came_from / source.lstrip("/"), root / target.lstrip("/")
            if path.is_dir():
                shutil.copytree(path, to, symlinks=True, dirs_exist_ok=True)
            else:
                to = to / path.name if target.endswith("/") else to
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, to)
            owner = flags.get("chown", "0:0")
            subprocess.run(["chown", "--recursive", "--no-dereference", owner, to], check=True)


class Composition:
    """``compose.yaml`` with an ``.env`` as docs/operations.md says to make it."""

    def __init__(self, place: Path, clone: Path, image: Image) -> None:
        self.place, self.image = place, image
        self.variables = {name: os.urandom(32).hex() for name in SECRETS}
        self.file: dict[str, Any] = yaml.safe_load((clone / "compose.yaml").read_text())
        self.key = clone / "signing_key.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.key], check=True)
        shutil.chown(self.key, int(image.user), int(image.user))
        self.key.chmod(0o400)
        (place / "hosts").write_text(HOSTS)
        self.grace = float(self.file["x-desk"]["stop_grace_period"].rstrip("s"))

    def filled_in(self, value: Any) -> str:
        """A value with its variables, as Compose reads it."""

        def put(match: re.Match[str]) -> str:
            if match["escaped"]:
                return "$"
            given, rest = self.variables.get(match["name"], ""), match["rest"] or ""
            assert given or not rest.startswith(":?"), f"{match['name']} {rest[2:]}"
            return given or rest.removeprefix(":-")

        return re.sub(r"(?P<escaped>\$\$)|\$\{(?P<name>\w+)(?P<rest>:[-?][^}]*)?\}", put, str(value))

    def environment(self, service: str) -> dict[str, str]:
        return {key: self.filled_in(value) for key, value in self.file["services"][service]["environment"].items()}

    def replicas(self) -> list[str]:
        """Names of containers of the desk's image: a service of two replicas has two."""
        services = self.file["services"]
        ours = [name for name, service in services.items() if "build" in service]
        numbers = {name: services[name].get("deploy", {}).get("replicas", 1) for name in ours}
        return [f"{name}#{n}" if n > 1 else name for name in ours for n in range(1, numbers[name] + 1)]

    @contextmanager
    def container(self, name: str) -> Iterator[Container]:
        """A service that runs; what it depends on is there."""
        service = name.split("#")[0]
        root = overlay(self.place, f"c-{name}", [str(self.place / "image.added"), "/"])
        data = self.place / "image.added/var/lib/countersign"
        own = self.place / f"data-{name}"
        shutil.copytree(data, own)
        subprocess.run(["chown", "--recursive", f"{self.image.user}:{self.image.user}", own], check=True)
        for what, where in ((own, "var/lib/countersign"), (self.place / "hosts", "etc/hosts")):
            _mount("--bind", str(what), str(root / where))
        for secret in self.file["services"][service]["secrets"]:
            (to := root / "run/secrets" / secret).parent.mkdir(parents=True, exist_ok=True)
            to.touch()
            _mount("--bind", str(self.key), str(to))
        _mount("-o", "remount,ro", str(root))
        _mount("-t", "tmpfs", "-o", "mode=1777", "tmp", str(root / "tmp"))
        made = Container(name, root, self.image, self.environment(service), self.file["services"][service]["command"])
        try:
            yield made
        finally:
            with suppress(ProcessLookupError):
                made.process.kill()
            made.process.wait()


class Container:
    """A process of the image with the environment of its service."""

    def __init__(self, name: str, root: Path, image: Image, environment: Mapping[str, str], command: list[str]) -> None:
        self.name, self.root, self.image = name, root, image
        self.environment = {"HOME": "/var/lib/countersign", **image.environment, **environment}
        self.log = root.parent / f"{name}.log"
        if name != "prepare":
            assert not self.is_well(), "nothing runs yet"
        with self.log.open("wb") as said:
            self.process = subprocess.Popen(
                self._command([*image.entrypoint, *command]), stdout=said, stderr=said,
                preexec_fn=partial(die_with_parent, os.getpid()),
            )  # fmt: skip

    def _command(self, command: list[str]) -> list[str]:
        user = f"--userspec={self.image.user}:{self.image.user}"
        pairs = [f"{key}={value}" for key, value in self.environment.items()]
        # --groups= of nobody: as Docker, which gives a numeric user no others.
        return ["chroot", user, "--groups=", str(self.root), "env", "-i", "-C", self.image.workdir, *pairs, *command]

    def run(self, *command: str) -> str:
        """As ``docker compose exec``: what a command in it says."""
        return subprocess.check_output(self._command(list(command)), text=True, stderr=subprocess.STDOUT)

    def is_well(self) -> bool:
        """Whether the health check of the image says so."""
        return subprocess.run(self._command(self.image.healthcheck), capture_output=True).returncode == 0

    def said(self) -> str:
        return self.log.read_text()[-3_000:]

    def stop(self, grace: float) -> str:
        """SIGTERM, and how soon it has ended; never killed."""
        began = time.monotonic()
        self.process.terminate()
        status = self.process.wait(grace)
        assert status == 0, (self.name, status, self.said())
        return f"within {time.monotonic() - began:.1f} s of {grace:.0f}"


def _use(web: Container, link: str) -> Iterator[tuple[str, str]]:
    """An operator looks at it, and a program sends files and asks for exports."""
    status, page = _get(link)
    assert status in (200, 302), (status, page[:500])
    _, page = _get("/sign-in/")
    style = re.search(rb"/static/css/desk\.\w+\.css", page)
    assert style and _get(style.group().decode())[0] == 200, page[:500]
    yield "pages", "the sign-in link, a page, and its style sheet"
    key = web.run("countersign", "apikey", "create", "--name", "walk", "--role", "admin").split()[-1]
    number = web.run("id", "-u").strip()
    for path in ("/app/x", "/venv/x", "/etc/x"):
        assert "Read-only" in web.run("sh", "-c", f"touch {path} 2>&1 || true"), f"{path} can be written to"
    yield "exec", f"user {number}; nothing but the data directory and /tmp can be written to"
    session = _imported(key, transcript(LARGE))
    status, content = _get(f"/api/v1/sessions/{session}/export?format=llmfeed&signed=true", key)
    assert status == 200 and len(content) > 100_000, (status, content[:500])
    yield "import and export", f"{LARGE:,} events in, {len(content) // 1024:,} kB signed out"
    status, said = _get("/readyz")
    assert status == 200, said
    yield "/readyz", said.decode().strip()[:60]
    told = web.run("sh", "-c", "countersign doctor || true")
    yield "doctor", " ".join(line for line in told.splitlines() if "ok" not in line.lower())[:300] or "no fault"


def _imported(key: str, content: bytes) -> str:
    edge = "edge"
    head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'.encode()
    kind = {"Content-Type": f"multipart/form-data; boundary={edge}"}
    status, said = _get("/api/v1/imports", key, head + content + f"\r\n--{edge}--\r\n".encode(), kind)
    assert status == 202, (status, said)
    found: dict[str, Any] = json.loads(said)
    deadline = time.monotonic() + SECONDS
    while found["status"] not in ("done", "failed") and time.monotonic() < deadline:
        time.sleep(0.3)
        found = json.loads(_get(f"/api/v1/imports/{found['id']}", key)[1])
    assert found["status"] == "done", found
    return str(found["sessions"][0])


def _get(
    address: str, key: str = "", body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    connection = HTTPConnection("localhost", 8000, timeout=SECONDS)
    told = {"Authorization": f"Bearer {key}"} if key else {}
    path = re.sub(r"^\w+://[^/]+", "", address)
    connection.request("POST" if body else "GET", path, body, {**told, **(headers or {})})
    answer = connection.getresponse()
    return answer.status, answer.read()


@contextmanager
def _postgres(composition: Composition) -> Iterator[None]:
    """A PostgreSQL 18 as its image makes it: a superuser with a password, and what the script of ``configs`` does."""
    given = composition.environment("postgres")
    home = composition.place / "postgres"
    home.mkdir()
    shutil.chown(home, 999, 999)
    (password := home / "password").write_text(given["POSTGRES_PASSWORD"])
    password.chmod(0o644)
    [programs] = (composition.place / "image.added/venv/lib").glob("*/site-packages/*/pginstall18/bin")
    data, user = home / "data", given["POSTGRES_USER"]
    as_postgres: dict[str, Any] = {"user": 999, "group": 999, "extra_groups": []}
    initdb = ["-U", user, f"--pwfile={password}", "--auth-local=trust", "--auth-host=scram-sha-256"]
    subprocess.run(
        [programs / "initdb", "-D", data, *initdb], check=True, stdout=subprocess.DEVNULL, cwd="/", **as_postgres
    )
    command = composition.file["services"]["postgres"]["command"][1:]
    with (composition.place / "postgres.log").open("wb") as said:
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, "-k", home, *command], stdout=said, stderr=said, cwd="/",
            preexec_fn=partial(die_with_parent, os.getpid()), **as_postgres,
        )  # fmt: skip
    try:
        ready = [programs / "pg_isready", "-h", "127.0.0.1", "-U", user]
        assert until(lambda: subprocess.run(ready, capture_output=True).returncode == 0, 60)
        database = given["POSTGRES_DB"]
        subprocess.run([programs / "createdb", "-h", home, "-U", user, database], check=True)
        script = composition.filled_in(composition.file["configs"]["desk_role"]["content"])
        environment = {**given, "PGHOST": str(home), "PATH": f"{programs}:/usr/bin:/bin"}
        subprocess.run(["sh", "-ec", script], env=environment, check=True, stdout=subprocess.DEVNULL)
        yield
    finally:
        server.terminate()
        server.wait(30)


@contextmanager
def _rabbitmq(composition: Composition) -> Iterator[None]:
    """Debian's RabbitMQ on the port that others look for, with the user that the image would make."""
    given, home = composition.environment("rabbitmq"), composition.place / "rabbitmq"
    home.mkdir()
    lines = {"default_user": given["RABBITMQ_DEFAULT_USER"], "default_pass": given["RABBITMQ_DEFAULT_PASS"]}
    (home / "rabbitmq.conf").write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
    (home / "plugins").write_text("[].\n")
    environment = os.environ | {
        "HOME": str(home), "RABBITMQ_NODENAME": "rabbitmq@localhost", "RABBITMQ_MNESIA_BASE": str(home / "mnesia"),
        "RABBITMQ_LOG_BASE": str(home / "log"), "RABBITMQ_CONFIG_FILE": str(home / "rabbitmq.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"), "RABBITMQ_CONF_ENV_FILE": str(home / "none"),
    }  # fmt: skip
    with (composition.place / "rabbitmq.log").open("wb") as said:
        node = subprocess.Popen(
            [RABBITMQ], env=environment, stdout=said, stderr=said, start_new_session=True,
            preexec_fn=partial(die_with_parent, os.getpid()),
        )  # fmt: skip
    try:
        assert until(lambda: answers(5672), 60), (composition.place / "rabbitmq.log").read_text()[-2_000:]
        yield
    finally:
        os.killpg(node.pid, 15)
        node.wait(30)


@contextmanager
def _storage(composition: Composition) -> Iterator[None]:
    """Something that speaks S3, with the bucket that ``bucket`` makes."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 9000, verbose=False)
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server.start()
    given = composition.environment("prepare")
    boto3.client(
        "s3", endpoint_url="http://127.0.0.1:9000", region_name="us-east-1",
        aws_access_key_id=given["AWS_ACCESS_KEY_ID"], aws_secret_access_key=given["AWS_SECRET_ACCESS_KEY"],
    ).create_bucket(Bucket="countersign")  # fmt: skip
    try:
        yield
    finally:
        server.stop()


def overlay(place: Path, name: str, lower: list[str]) -> Path:
    """A root that shows others and keeps what is written in ``NAME.added``."""
    root, added, work = (place / f"{name}{end}" for end in (".root", ".added", ".work"))
    for folder in (root, added, work):
        folder.mkdir()
    added.chmod(0o755)
    _mount("-t", "overlay", "-o", f"lowerdir={':'.join(lower)},upperdir={added},workdir={work}", name, str(root))
    for special in ("proc", "dev"):
        _mount("--rbind", f"/{special}", str(root / special))
    return root


def _in_root(root: Path, command: list[str], environment: Mapping[str, str]) -> None:
    pairs = [f"{key}={value}" for key, value in environment.items()]
    done = subprocess.run(["chroot", root, "env", "-i", *pairs, *command], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stdout[-1_000:], done.stderr[-2_000:])


def _without_tests(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name in ("test", "tests", "__pycache__")} | {
        name for name in names if name == "site-packages" and "lib/python" in folder
    }


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def _unshare(flag: int) -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(flag):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    sys.exit(main())
