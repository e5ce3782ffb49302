"""Times two readers of vCons on one file, in turn; run by ``vcon_speed`` in an environment that has both."""

from __future__ import annotations

import gc
import io
import json
import logging
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from time import process_time

from vcon import Vcon

from vcon_app import registry
from vcon_app.formats import vcon

BETWEEN_COLLECTIONS = 200_000
"""As in a worker of ours (``vcon_app.services.imports.file_importer``), for both sides."""
LONG_ENOUGH = 0.1
"""CPU seconds of one measurement; a document is read as often as that takes."""


def main(path: str, rounds: str) -> None:
    logging.disable(logging.CRITICAL)  # the library tells of every step, which takes longer than the steps
    gc.set_threshold(BETWEEN_COLLECTIONS, 10, 10)
    registry.readers()  # loads the formats
    content = Path(path).read_bytes()
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: [None for _ in vcon.read(io.BytesIO(content))],
        "theirs": lambda: _must_be_valid(Vcon.build_from_json(content.decode())),
        "detection": lambda: registry.detect(io.BytesIO(content)),
    }
    often = {name: max(1, int(LONG_ENOUGH / _seconds(side, 1))) for name, side in sides.items()}
    least = dict.fromkeys(sides, float("inf"))
    for _ in range(int(rounds)):
        for name, side in sides.items():
            least[name] = min(least[name], _seconds(side, often[name]))
    versions = f"vcon {version('vcon')}, orjson {version('orjson')}, Python {platform.python_version()}"
    print(json.dumps(least | {"versions": versions}))


def _must_be_valid(document: Vcon) -> None:
    assert document.is_valid()[0]


def _seconds(side: Callable[[], object], often: int) -> float:
    began = process_time()
    for _ in range(often):
        side()
    return (process_time() - began) / often


if __name__ == "__main__":
    main(*sys.argv[1:])
