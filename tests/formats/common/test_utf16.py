"""UTF-16, as PowerShell writes what a program prints, is read as the UTF-8 that it stands for."""

from __future__ import annotations

import io
import tracemalloc

import pytest

from tests.places import SAMPLES
from vcon_app import registry
from vcon_app.drafts import EventDraft, FormatError
from vcon_app.formats.common.encodings import utf16
from vcon_app.formats.common.head import open_plain

ENCODINGS = {"little": ("utf-16-le", b"\xff\xfe"), "big": ("utf-16-be", b"\xfe\xff")}
TEXT = "Pears, Äpfel, 梨 and \N{PEAR}\n" * 20_000
READ = sorted({"claude-code", "codex", "gemini-cli", "copilot-cli", "cursor", "pi", "kimi", "aider", "opencode"})
NOT_READ = ("vcon", "vac")
"""JSON that systems exchange is UTF-8 (RFC 8259 s8.1), and a signature is over its bytes."""


def encoded(text: str, order: str = "little") -> bytes:
    name, mark = ENCODINGS[order]
    return mark + text.encode(name)


def told(name: str, data: bytes) -> list[tuple[str, str, str]]:
    drafts = registry.reader(name).read(io.BytesIO(data))
    return [(draft.kind, draft.text, draft.key) for draft in drafts if isinstance(draft, EventDraft)]


@pytest.mark.parametrize("order", ENCODINGS)
def test_it_is_read_piece_by_piece_and_can_be_sought(order):
    data, plain = encoded(TEXT, order), TEXT.encode()
    stream = open_plain(io.BytesIO(data))
    assert stream.read() == plain
    for place in (7, 300_001, 12):
        assert stream.seek(place) == stream.tell() == place
        assert stream.read(40_000) == plain[place : place + 40_000]
    assert (stream.seek(0, 2), stream.read()) == (len(plain), b"")
    assert stream.seek(-5, 1) == len(plain) - 5 and stream.read() == plain[-5:]


def test_memory_does_not_grow_with_the_file():
    def most(times: int) -> int:
        stream = open_plain(io.BytesIO(encoded(TEXT * times)))
        tracemalloc.start()
        try:
            while stream.read(10_000):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert most(8) < most(1) + 100_000


@pytest.mark.parametrize(("end", "read"), [(b"s", "pear\ufffd"), (b"\x00\xd8s\x00", "pear\ufffds"), (b"", "pear")])
def test_what_is_cut_off_or_no_text_is_replaced(end, read):
    assert open_plain(io.BytesIO(encoded("pear") + end)).read().decode() == read


@pytest.mark.parametrize("order", ENCODINGS)
@pytest.mark.parametrize("name", READ)
def test_a_transcript_gives_the_same_events(name, order):
    for path in sorted(path for path in (SAMPLES / name).iterdir() if path.suffix != ".expected"):
        data = path.read_bytes()
        packed = encoded(data.decode(), order)
        assert registry.detect(io.BytesIO(packed))[0] == name
        assert told(name, packed) == told(name, data)


@pytest.mark.parametrize("name", NOT_READ)
def test_a_record_that_may_be_signed_is_refused_in_words(name):
    path = next(path for path in sorted((SAMPLES / name).iterdir()) if path.suffix in (".vcon", ".json"))
    with pytest.raises(FormatError, match="UTF-16 text; a .* is UTF-8"):
        told(name, encoded(path.read_text()))


def test_other_text_is_refused_as_what_it_is():
    with pytest.raises(registry.Unrecognised, match="text, not JSON"):
        registry.detect(io.BytesIO(encoded("Nothing but words")))
    assert not utf16.is_utf16(io.BytesIO(b"\xef\xbb\xbf{}"))
