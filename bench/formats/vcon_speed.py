"""How fast is a vCon read? ``python -m bench.formats.vcon_speed [--python PROGRAM] [--library NAME==VERSION]``

Our reader and the library ``vcon`` of the package index on the same bytes, in the same interpreter, in turn: each round
times one side after the other, and the least CPU time of all rounds counts. Both have the parsers that they name as
their dependencies, in an environment that is made in a temporary directory and goes away.

Ours: read from bytes, check every rule, yield all sessions, events and findings. Theirs: ``Vcon.build_from_json`` and
``is_valid``, which end with a tree and a list of errors. Which of our formats a file is in is found out beside that, in
a row of its own; the library is told.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import orjson

from ..measure import table
from ..places import ROOT
from . import vcons

OURS = (
    "backports.zstd",
    "cryptography",
    "google-re2",
    "ijson",
    "markdown-it-py",
    "nh3",
    "orjson",
    "pygments",
    "rfc8785",
)
HEAD = ("document", "bytes", "ours ms", "ours docs/s", "their ms", "their docs/s", "ours is × as fast", "detection ms")
DOCUMENTS = {
    "call, a recording": vcons.recording,
    "call, 8 messages": vcons.call,
    "agent, 7 entries": lambda: vcons.session(7),
    "agent, 10,000 entries": lambda: vcons.session(10_000),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--python", default=sys.executable, help="vcon 0.10.0 needs 3.12; the default is this one")
    options.add_argument("--library", default="vcon==0.10.0", help="an older one for an older Python: vcon==0.3.10")
    options.add_argument("--rounds", type=int, default=9)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="countersign-bench-") as home:
        python = _environment(Path(home), chosen.python, chosen.library)
        files = {name: _written(Path(home) / f"{number}.vcon", made()) for number, (name, made) in _numbered()}
        said = [_measured(python, name, file, chosen.rounds) for name, file in files.items()]
    print(said[0]["versions"], "\n")
    print(table(HEAD, [_row(one) for one in said]))


def _numbered() -> enumerate:
    return enumerate(DOCUMENTS.items())


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _environment(home: Path, python: str, library: str) -> Path:
    """An interpreter with the library and with what our reader needs. Ends the benchmark when it cannot be had."""
    subprocess.run([python, "-m", "venv", home / "env"], check=True)
    made = home / "env" / "bin" / "python"
    command = [made, "-m", "pip", "install", "-qq", library, *_pinned()]
    if subprocess.run(command).returncode:
        sys.exit(f"{library} cannot be installed for {python}: name another interpreter or version")
    return made


def _pinned() -> list[str]:
    """The parsers, in the versions that we ship."""
    wanted = re.compile(rf"^({'|'.join(OURS)})==\S+", re.MULTILINE)
    return [found.group() for found in wanted.finditer((ROOT / "requirements" / "app.txt").read_text())]


def _measured(python: Path, name: str, file: Path, rounds: int) -> dict:
    """What ``bench.formats.vcon_sides`` says of a file."""
    command = [python, "-W", "ignore", "-m", "bench.formats.vcon_sides", file, str(rounds)]
    said = orjson.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    return said | {"name": name, "bytes": file.stat().st_size}


def _row(said: dict) -> tuple[str, ...]:
    ours, theirs = said["ours"], said["theirs"]
    return (
        said["name"], f"{said['bytes']:,}", f"{ours * 1e3:.3f}", f"{1 / ours:,.1f}", f"{theirs * 1e3:.3f}",
        f"{1 / theirs:,.1f}", f"{theirs / ours:.2f}", f"{said['detection'] * 1e3:.3f}",
    )  # fmt: skip


if __name__ == "__main__":
    main()
