#!/usr/bin/env python
"""Countersign's commands. Exit status 2 and one line for a bad setting, name, directory or port."""

import os
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


if __name__ == "__main__":
    sys.exit(main(sys.argv))
