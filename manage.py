#!/usr/bin/env python
"""Countersign's commands. Exit status 2 and one line for a bad setting, name, directory or port."""

import os
import select
import signal
import sys

from config.env import ConfigError


def main(arguments: list[str]) -> int:
    """Run one command; the exit status."""
    from config import commands

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that a started database stops
    try:
        return commands.run(arguments)
    except ConfigError as fault:
        print(f"countersign: {fault}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        if not is_read_no_more(sys.stdout.fileno()):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes it at its end
        return 128 + signal.SIGPIPE


def is_read_no_more(output: int) -> bool:
    """Whether whoever read a pipe has read enough, as ``head -1`` does."""
    poll = select.poll()
    poll.register(output, select.POLLOUT)
    return any(event & select.POLLERR for _, event in poll.poll(0))


if __name__ == "__main__":
    sys.exit(main(sys.argv))
