"""What a large vCon costs in memory: a small multiple of its bytes, or a refusal that says so."""

import gc
import io
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from tests.places import ROOT
from vcon_app.drafts import EventDraft, FormatError
from vcon_app.formats import vcon
from vcon_app.formats.vcon.file.tree import SMALL
from vcon_app.formats.vcon.trace.steps import Step

STATUS = Path("/proc/self/status")
READS = """
import sys
from vcon_app.drafts import EventDraft
from vcon_app.formats import vcon
def most():
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
before = most()
with open(sys.argv[1], "rb") as file:
    events = sum(isinstance(draft, EventDraft) for draft in vcon.read(file))
print(events, most() - before)
"""


def with_entries(count: int, length: int) -> bytes:
    entries = [
        {"type": "user", "id": f"n{number}", "timestamp": 1_760_000_000_000 + number, "content": f"{number} " * length}
        for number in range(count)
    ]
    record = {"version": "1", "id": "r", "session": {"session-id": "s", "entries": entries}}
    trace = {"type": "agent_trace", "vendor": "v", "encoding": "json", "body": record}
    return json.dumps({"uuid": "0199d2aa-4c00-8b1e-9f3c-5a1d0e7b2c01", "parties": [{}], "analysis": [trace]}).encode()


@pytest.mark.skipif(not STATUS.exists(), reason="there is no /proc here that tells the peak of a process")
def test_a_session_larger_than_what_is_read_at_once_takes_a_small_multiple_of_its_bytes(tmp_path):
    """Of a process: the parser asks for twelve times the bytes and touches few; tracemalloc cannot tell which."""
    file = tmp_path / "long.vcon"
    file.write_bytes(with_entries(20_000, 200))
    assert file.stat().st_size > SMALL

    said = subprocess.run([sys.executable, "-c", READS, file], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    events, grown = map(int, said.split())

    assert events == 20_000
    assert grown < 6 * file.stat().st_size


def test_source_of_an_event_is_freed_once_it_is_yielded():
    drafts = vcon.read(io.BytesIO(with_entries(1_000, 1)))
    events = [next(draft for draft in drafts if isinstance(draft, EventDraft)) for _ in range(900)]
    held = [one for one in gc.get_objects() if isinstance(one, Step)]

    assert (len(events), len(held)) == (900, 100)


@pytest.mark.parametrize("array", ["parties", "dialog", "analysis", "attachments", "meta"])
def test_a_small_file_of_half_a_million_objects_is_refused_before_it_fills_the_memory(array):
    file = io.BytesIO(b'{"parties":[],"%s":[%s{}]}' % (array.encode(), b"{}," * 500_000))

    tracemalloc.start()
    with pytest.raises(FormatError, match=r"about \d+ MB of memory.*Split it"):
        list(vcon.read(file))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 10_000_000
