"""What does recording add to a program? ``python -m bench.sdk.recording [--events 2000]``

``send_message`` of the package, with a spool and a desk that is away: wall time in the caller's thread, one after the
other and with pauses between two, after which the processor's caches are cold. The target is 50 µs.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean, quantiles

from ..measure import table
from ..places import ROOT

sys.path.insert(0, str(ROOT / "sdk" / "src"))

from countersign.conversation import Session  # noqa: E402

NOBODY = "http://127.0.0.1:9"
TEXT = "Where is my order 4711? I have waited for it since Monday, please have a look."
PAUSES = (0.0, 0.001, 0.01)


async def took(session: Session, events: int, pause: float) -> list[float]:
    """µs of each call."""
    found = []
    for _ in range(events):
        begun = time.perf_counter()
        await session.send_message({"role": "user", "content": TEXT})
        found.append((time.perf_counter() - begun) * 1e6)
        time.sleep(pause)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=2000)
    options = parser.parse_args()
    logging.getLogger("countersign").setLevel(logging.CRITICAL)
    rows = []
    with tempfile.TemporaryDirectory(prefix="countersign-bench-") as folder:
        session = Session("recording", "Bench", url=NOBODY, api_key="cs_bench", spool=Path(folder), limit=1 << 30)
        for pause in PAUSES:
            found = asyncio.run(took(session, options.events, pause))
            cuts = quantiles(found, n=100)
            rows.append([f"{pause * 1000:g}", *(f"{one:.0f}" for one in (cuts[49], cuts[89], cuts[98], mean(found)))])
    print(table(["pause ms", "median µs", "p90 µs", "p99 µs", "mean µs"], rows))
    print(f"load {os.getloadavg()[0]:.0f}")
    sys.stdout.flush()
    os._exit(0)  # what is left in the spool has nobody to go to


if __name__ == "__main__":
    main()
