"""Files packed by Zstandard are read as they are without, and damaged ones are refused in words."""

from __future__ import annotations

import io

import pytest

from tests.formats.checks import drafts_of, jsonl
from tests.formats.codex.lines import META, said
from vcon_app import registry
from vcon_app.drafts import FormatError
from vcon_app.formats import codex
from vcon_app.formats.common.encodings.zstandard import zstd
from vcon_app.formats.common.head import DAMAGE, open_plain

ROLLOUT = jsonl(META, said("user", "Prune."), *(said("assistant", f"Branch {number}") for number in range(2000)))


@pytest.mark.parametrize(
    "packed", [zstd.compress(ROLLOUT), zstd.compress(ROLLOUT[:300]) + zstd.compress(ROLLOUT[300:])]
)
def test_a_packed_rollout_gives_what_the_plain_one_gives(packed: bytes) -> None:
    assert registry.detect(io.BytesIO(packed))[0] == "codex"
    plain, found = drafts_of(codex, ROLLOUT), drafts_of(codex, packed)
    keys = [[getattr(draft, "key", "") for draft in drafts] for drafts in (plain, found)]
    assert keys[0] == keys[1] and len(found) > 2000


def test_packed_bytes_of_something_else_are_described() -> None:
    for data, says in ((zstd.compress(b"Dear Ada"), "a Zstandard file of something that is text"),
                       (zstd.compress(b"x")[:4] + b"\xff" * 30, "cannot be unpacked")):  # fmt: skip
        with pytest.raises(registry.Unrecognised, match=says):
            registry.detect(io.BytesIO(data))


@pytest.mark.parametrize("cut", [2, 40, 1000])
def test_a_packed_file_that_is_cut_off_ends_with_a_known_fault(cut: int) -> None:
    with pytest.raises((FormatError, *DAMAGE)):
        drafts_of(codex, zstd.compress(ROLLOUT)[:-cut])


def test_a_frame_that_asks_for_more_memory_than_allowed_is_refused() -> None:
    data = zstd.compress(b"a" * 1000)
    frame = data[:4] + b"\x00" + bytes([20 << 3]) + data[6:]  # no single segment, a window of 2**30
    with pytest.raises(zstd.ZstdError, match="too much memory"):
        open_plain(io.BytesIO(frame)).read()
