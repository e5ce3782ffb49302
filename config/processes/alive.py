"""``python -m config.processes.alive [HOST PORT]``: whether the parts that were started here work, for containers.

0 when each shows its heartbeat and, where there is a web server, ``/readyz`` is 200; else 1 and a line. HOST is the one
that the web server was told to listen on.
"""

from __future__ import annotations

import sys
from pathlib import Path

from config import env
from config.processes import heartbeat_files
from config.processes.heartbeat_files import SILENT_SECONDS
from config.processes.loopback import get


def main(arguments: list[str]) -> int:
    """Look, and print what is wrong; the exit status."""
    host, port = arguments or ("0.0.0.0", "8000")
    found = fault(env.read().data_dir, host, int(port))
    print(found or "ok")
    return 1 if found else 0


def fault(data_dir: Path, host: str, port: int) -> str | None:
    """What is wrong with the parts of this data directory, or None."""
    beats = heartbeat_files.all_of(data_dir)
    if not beats:
        return f"no part has been started on {data_dir}"
    for beat in beats:
        if beat.age() > SILENT_SECONDS:
            return f"{beat.part} has shown no heartbeat for {beat.age():.0f} s"
    if not any(beat.part == "web" or beat.part.startswith("web-") for beat in beats):
        return None
    status, _ = get(host, port, "/readyz")
    return None if status == 200 else f"/readyz answers {status}" if status else "the web server does not answer"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
