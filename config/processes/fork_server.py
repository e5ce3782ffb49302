"""``python -m config.processes.fork_server``: a process that has loaded everything once and forks the parts.

Web server, workers and beat share the pages of what is loaded: at rest the installation takes 275 MB, and 370 when each
loads for itself. The supervisor asks over a socket (``fork_client``) and adopts what is forked, so a part does not
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
LATER = (
    "celery.app.log", "celery.apps.worker", "celery.beat", "celery.bin.celery", "celery.concurrency.prefork",
    "celery.concurrency.thread", "celery.worker.autoscale", "celery.worker.components", "celery.worker.consumer",
    "celery.worker.strategy", "config.gateway", "config.transport", "django.core.handlers.asgi", "psycopg_pool",
    "uvicorn.lifespan.off", "uvicorn.loops.asyncio", "uvicorn.main", "uvicorn.protocols.http.httptools_impl",
)  # fmt: skip
"""What the parts would each load for themselves after the fork."""


def main(arguments: list[str]) -> None:
    """Load, say so, and fork a part for every request; ends with the supervisor's end of the socket.

    ``arguments`` are the number of the socket and the supervisor's process id. Returns in the parts, too, when they
    have ended.
    """
    name_process("desk-forker")
    requests, supervisor = socket.socket(fileno=int(arguments[0])), int(arguments[1])
    load()
    if threads() > 1:  # a fork would copy their locks as they stand, and not the threads
        raise SystemExit("a module that was loaded has started a thread: each part loads for itself")
    gc.collect()
    gc.freeze()  # what is never looked at again stays shared
    requests.send(LOADED)
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, MESSAGE_BYTES, 2)
        if not request:
            return
        middle = os.fork()
        if middle == 0:
            break
        os.waitpid(middle, 0)
        for descriptor in descriptors:
            os.close(descriptor)
    leave_to(supervisor)
    become(json.loads(request), descriptors, requests)


def load() -> None:
    """Django, the tasks, the pages and the API, and the servers. ``config.asgi`` looks for files, which come later."""
    import django

    django.setup()
    from django.conf import settings

    from config.celery import app

    app.loader.import_default_modules()
    app.finalize()
    for name in (settings.ROOT_URLCONF, *(path.rpartition(".")[0] for path in settings.MIDDLEWARE), *LATER):
        import_module(name)


def threads() -> int:
    """How many threads this process has, those that Python does not know among them."""
    return len(list(Path("/proc/self/task").iterdir()))


def leave_to(supervisor: int) -> None:
    """Fork once more and end in between: the process that returns is the supervisor's child.

    One that the supervisor does not adopt ends here (``die_with_parent``).
    """
    middle = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == middle:
        time.sleep(0.0005)
    die_with_parent(supervisor)


def become(part: dict[str, Any], descriptors: list[int], requests: socket.socket) -> None:
    """Be the part, as ``python -m MODULE`` would: in a session, an environment and with outputs of its own."""
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
