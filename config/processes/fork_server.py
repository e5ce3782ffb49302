"""``python -m config.processes.fork_server``: a process that has loaded everything once and forks the parts.

Web server, workers and scheduler share the pages of what is loaded: at rest the installation takes 275 MB, and 370 when
each loads for itself. The supervisor asks over a socket (``fork_client``) and adopts what is forked, so a part does not
notice when this process ends.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import socket
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from config.processes.system import die_with_parent, name_process

LOADED = b"loaded"
MESSAGE_BYTES = 65_536
PRELOADED = (
    "celery.app.log", "celery.apps.worker", "celery.bin.celery", "celery.concurrency.solo",
    "celery.concurrency.thread", "celery.worker.autoscale", "celery.worker.components", "celery.worker.consumer",
    "celery.worker.strategy", "config.transport", "config.web.admission",
    "config.web.protocol", "config.web.static", "django.core.handlers.asgi", "psycopg_pool",
    "uvicorn.lifespan.off", "uvicorn.loops.asyncio", "uvicorn.main", "uvicorn.protocols.http.httptools_impl",
)  # fmt: skip
"""Modules that each part would import for itself after the fork."""


def main(arguments: list[str]) -> None:
    """Load everything, send ``LOADED``, and fork a part for every request until the supervisor closes the socket.

    ``arguments`` are the file descriptor of the socket and the supervisor's process id. Each part returns from here,
    too, when it has ended.
    """
    name_process("desk-forker")
    requests, supervisor = socket.socket(fileno=int(arguments[0])), int(arguments[1])
    gc.disable()  # what is loaded stays: to look for cycles in it takes a seventh of the time of loading
    load()
    if threads() > 1:  # fork(2) copies one thread alone, and the locks that the others hold
        raise SystemExit("a module that was loaded has started a thread: each part loads for itself")
    gc.collect()
    gc.freeze()  # the collector does not write to these objects again, so their pages stay shared
    gc.enable()
    requests.send(LOADED)
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, MESSAGE_BYTES, 2)
        if not request:
            return
        if not descriptors:  # the supervisor asks whether anybody is there
            requests.send(LOADED)
            continue
        middle = os.fork()
        if middle == 0:
            break
        os.waitpid(middle, 0)
        for descriptor in descriptors:
            os.close(descriptor)
    reparent_to(supervisor)
    run_part(json.loads(request), descriptors, requests)


def load() -> None:
    """Import Django, tasks, pages, API and servers; not ``config.asgi``, which lists static files that come later."""
    import django

    django.setup()
    from django.conf import settings

    from config.celery import app

    app.loader.import_default_modules()
    app.finalize()
    for name in (settings.ROOT_URLCONF, *(path.rpartition(".")[0] for path in settings.MIDDLEWARE), *PRELOADED):
        import_module(name)


def threads() -> int:
    """Number of threads of this process, with those that Python does not know."""
    return len(list(Path("/proc/self/task").iterdir()))


def reparent_to(supervisor: int) -> None:
    """Fork again and end the process in between: the one that returns is an orphan, and so the supervisor's child.

    It ends here when the supervisor is no subreaper any more (``die_with_parent``).
    """
    middle = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == middle:
        time.sleep(0.0005)
    die_with_parent(supervisor)


def run_part(part: dict[str, Any], descriptors: list[int], requests: socket.socket) -> None:
    """Run the part as ``python -m MODULE`` would, in a session of its own, with its environment and outputs."""
    os.setsid()
    name_process(f"desk-{part['name']}")
    os.environ.update(part["env"])
    for number, descriptor in enumerate(descriptors, start=1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    with requests:
        requests.send(str(os.getpid()).encode())
    sys.argv = list(part["module"])
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
