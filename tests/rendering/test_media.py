"""Images, sound and files in a record: found in any dialect, known by their bytes alone."""

from __future__ import annotations

import base64
import json
import struct
import zlib

import pytest

from sessions_app.rendering import media

GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xc0\x00\x11\x08\x00\x20\x00\x40"
    + bytes(40)
)
WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(40)
MP3 = b"ID3\x04" + bytes(60)
PDF = b"%PDF-1.7 " + bytes(60)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def png(width: int = 3, height: int = 2) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + bytes(3 * width) for _ in range(height)) if width * height < 10_000 else b""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


PNG = png()
URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
BASE64URL = base64.urlsafe_b64encode(PNG).decode().rstrip("=")


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


DIALECTS = {
    "Messages API": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": text(PNG)}},
    "Chat Completions": {"type": "image_url", "image_url": {"url": URL}},
    "Responses API": {"type": "input_image", "image_url": URL},
    "Gemini": {"inlineData": {"mimeType": "image/png", "data": text(PNG)}},
    "MCP": {"type": "image", "mimeType": "image/png", "data": text(PNG)},
    "vCon": {
        "mediatype": "image/png",
        "encoding": "base64url",
        "body": base64.urlsafe_b64encode(PNG).decode().rstrip("="),
    },
    "JSON in a string": {"output": json.dumps([{"type": "input_image", "image_url": URL}])},
    "bare": {"type": "image_generation_call", "result": text(PNG)},
    "in lines": {"source": {"type": "base64", "data": base64.encodebytes(PNG).decode()}},
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_image_is_found_in_every_dialect(dialect):
    found = media.media_of({"role": "user", "content": ["Look", DIALECTS[dialect]]})
    assert [(one.kind, one.media_type, one.data, one.width, one.height) for one in found.pieces] == [
        ("image", "image/png", PNG, 3, 2)
    ]


@pytest.mark.parametrize(
    ("data", "media_type"), [(GIF, "image/gif"), (JPEG, "image/jpeg"), (WAVE, "audio/wav"), (MP3, "audio/mpeg")]
)
def test_the_bytes_say_what_it_is_whatever_the_file_says(data, media_type):
    found = media.media_of({"media_type": "text/html", "encoding": "base64", "data": text(data)})
    assert [one.media_type for one in found.pieces] == [media_type]


@pytest.mark.parametrize("data", [SVG, b"<!doctype html><script>alert(1)</script>" + bytes(20), PDF])
def test_what_could_run_is_only_handed_out(data):
    found = media.media_of({"type": "image", "mimeType": "image/png", "data": text(data)})
    assert [(one.kind, one.media_type, one.suffix) for one in found.pieces] == [("file", "", "bin")]


def test_an_image_that_unfolds_to_gigabytes_is_not_drawn():
    bomb = png(60_000, 60_000)
    assert len(bomb) < 1_000
    assert media.piece_of(bomb).kind == "file"


def test_the_sizes_of_images_are_read_from_their_headers():
    lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 40, 30) + bytes(20)
    lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 39 | 29 << 14) + bytes(20)
    extended = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0" + (39).to_bytes(3, "little") + (29).to_bytes(3, "little")
    assert [(one.width, one.height) for one in map(media.piece_of, (lossy, lossless, extended))] == [(40, 30)] * 3
    assert (media.piece_of(JPEG).width, media.piece_of(JPEG).height) == (64, 32)
    assert media.piece_of(JPEG[:22]).kind == "file", "a cut header says nothing"


def test_the_same_bytes_are_one_piece_and_the_order_is_that_of_the_record():
    twice = [DIALECTS["MCP"], {"type": "image", "mimeType": "image/gif", "data": text(GIF)}, DIALECTS["Gemini"]]
    assert [one.suffix for one in media.media_of(twice, twice).pieces] == ["png", "gif"]


@pytest.mark.parametrize("value", [
    "a sentence of more than forty characters without any base64 in it at all",
    {"type": "text", "text": "wordsthatlooklikebase64butarewordsthatlooklikebase64"},
    {"encoding": "none", "body": "x" * 60, "mediatype": "text/plain"},
    {"encoding": "json", "body": json.dumps({"text": "y" * 60}), "mediatype": "application/json"},
    {"content": "z" * 60, "role": "user"},
    "data:image/png;base64,not base64 at all, really not base64 at all",
    [[[[]]]], None, 7, {"data": text(PNG)[:20]},
])  # fmt: skip
def test_text_is_no_file(value):
    assert media.media_of(value).pieces == []


def test_an_address_is_given_in_words_and_only_that_of_the_web():
    found = media.media_of([
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "image", "url": "javascript:alert(1)"}, {"type": "file", "uri": "file:///etc/passwd"},
        {"type": "tool_use", "url": "https://example.org/page"},
    ])  # fmt: skip
    assert found.addresses == ["https://example.org/a.png"]


def test_bounds_hold_whatever_comes():
    many = media.media_of([{"type": "image", "mimeType": "image/png", "data": text(png(3, n + 1))} for n in range(30)])
    assert (len(many.pieces), many.more) == (media.MOST, True)
    assert media.media_of([0] * (media.NODES + 1)).more
    deep: object = DIALECTS["MCP"]
    for _ in range(500):
        deep = [deep]
    assert media.media_of(deep).pieces == []


def test_a_page_asks_only_where_something_may_be():
    light = 16_000
    assert media.may_hold_media({"attachments": [{"type": "image"}]}, 40, light)
    assert media.may_hold_media({"vcon": {"entry": {"content": [{"type": "image"}]}}}, 60, light)
    assert media.may_hold_media({"mediatype": "audio/wav", "size": 40}, 60, light)
    assert media.may_hold_media({}, 20_000, light)
    assert not media.may_hold_media({"stop_reason": "end_turn", "type": "assistant"}, 60, light)
    assert not media.may_hold_media(None, None, light)
