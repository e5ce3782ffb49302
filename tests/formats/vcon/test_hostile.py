"""Files made to hurt: each is refused with a reason, or read with findings; nothing else ever happens."""

import base64
import copy
import gzip
import io
import json
import random
import socket
import tracemalloc

import pytest

from vcon_app.drafts import FormatError, Losses
from vcon_app.formats import vcon
from vcon_app.formats.vcon.file import tree
from vcon_app.formats.vcon.file.elide import LONG_STRING, Elider
from vcon_app.signing import cbor

from ..vcon_tools import SAMPLES, bytes_of, drafts, events, findings, sample, session, sessions, signature, written

BARE = {"uuid": "0199d2aa-4c00-8b1e-9f3c-5a1d0e7b2c01", "created_at": "2026-01-01T00:00:00Z", "parties": [{}]}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(data, alg="RS256", **header):
    protected = b64(json.dumps({"alg": alg}).encode())
    return {"payload": b64(data), "signatures": [{"header": header, "protected": protected, "signature": "AA"}]}


def nested(depth):
    return b'{"parties":[' + b'{"meta":' * depth + b"1" + b"}" * depth + b"]}"


REFUSED = [
    (b"", "empty"),
    (b"{", "not JSON"),
    (b"[]", "not an object"),
    (b'"vcon"', "not an object"),
    (b"{}", "not recognised"),
    (b'{"uuid":"x","created_at":"y"}', "none of parties, dialog"),
    (b"\xff\xfe{\x00}\x00", "UTF-16"),
    (b"PK\x03\x04rest", "zip"),
    (b"\x1f\x8bnonsense", "gzip"),
    (gzip.compress(b'{"parties":[]}')[:-9], "gzip"),
    (gzip.compress(b" " * 80_000_000), "decompression bomb"),
    (nested(250), "nests deeper"),
    (nested(100_000), "nested deeper"),
    (b'{"parties":[' + b"9" * 5000 + b"]}", "not a readable vCon: it holds a number of more"),
    (b'{"ciphertext":"x","recipients":[],"unprotected":{"uuid":"u-1","cty":"application/vcon"}}', "u-1"),
    (json.dumps({"payload": "!!", "signatures": []}).encode(), "base64url"),
    (json.dumps(signed(b"not json")).encode(), "not JSON"),
    (json.dumps(signed(gzip.compress(b" " * 80_000_000))).encode(), "decompression bomb"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "reason"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_unreadable_file_is_refused_with_a_reason(data, reason):
    with pytest.raises(FormatError, match=reason):
        drafts(data)


def test_signed_too_often_is_refused_and_eight_times_is_not():
    data = bytes_of(sample("night-rota.vcon"))
    for _ in range(8):
        data = json.dumps(signed(data)).encode()
    found = drafts(data)

    assert events(found)[0].pointer.startswith("/payload" * 8 + "/analysis/1")
    assert signature(found).state == "uncheckable"
    with pytest.raises(FormatError, match="8 times"):
        drafts(signed(data))


def test_an_unsigned_alg_is_no_signature_and_another_uuid_in_the_header_is_reported():
    found = drafts(signed(bytes_of(BARE), alg="none", uuid="somebody-else"))

    assert signature(found).state in ("invalid", "uncheckable")
    assert [finding.path for finding in findings(found, "R88")] == ["/signatures"]


def test_a_packed_payload_in_a_packed_file_is_read():
    inner = gzip.compress((SAMPLES / "night-rota.vcon").read_bytes())
    found = drafts(gzip.compress(json.dumps(signed(inner)).encode()))

    assert len(events(found)) == 23
    assert session(found).record["vcon"]["forms"] == ["gzip", "jws", "gzip"]


def test_nothing_is_fetched(monkeypatch):
    def trap(*_args, **_kwargs):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", trap)
    document = sample("night-rota.vcon")
    document["redacted"] = {"type": "x", "url": "https://127.0.0.1/a", "content_hash": "sha512-AA"}
    document["dialog"][2] = {"type": "recording", "url": "http://127.0.0.1/b", "parties": [0]}
    found = drafts(signed(bytes_of(document), x5u="https://127.0.0.1/c"))

    assert findings(found, "R59")


def test_nul_bidi_and_lone_surrogates_are_read_and_written():
    document = sample("tide.core-only.vcon")
    document["dialog"][0]["body"] = "a\x00b \u202egnp.exe \ud800 <script>alert(1)</script>"
    found = drafts(document)
    ((draft, held),) = sessions(found)

    assert "�" in events(found)[1].text
    assert findings(found, "R112")
    assert [event.text for event in events(drafts(written(draft, held)))] == [event.text for event in held]


def test_huge_integers_survive():
    document = sample("go-on.by-order.vcon")
    document["analysis"][0]["body"]["session"]["entries"][1]["input"] = {"n": 2**63 + 1}
    ((draft, held),) = sessions(drafts(document))

    assert str(2**63 + 1).encode() in written(draft, held)


def test_children_nested_as_deep_as_json_may_be_are_read():
    entry = {"type": "assistant", "content": "bottom"}
    for _ in range(90):
        entry = {"type": "assistant", "content": "x", "children": [entry]}
    document = sample("go-on.by-order.vcon")
    document["analysis"][0]["body"]["session"]["entries"] = [entry]
    ((draft, held),) = sessions(drafts(document))

    assert len([event for event in held if event.text in ("x", "bottom")]) == 91
    assert [event.text for event in events(drafts(written(draft, held)))] == [event.text for event in held]


def test_ten_thousand_equal_messages_do_not_take_quadratic_time():
    document = sample("go-on.by-order.vcon")
    entries = [{"type": "assistant", "content": "ok"} for _ in range(10_000)]
    document["analysis"][0]["body"]["session"]["entries"] = entries
    document["dialog"] = [{"type": "text", "parties": [1], "encoding": "none", "body": "ok"} for _ in range(10_000)]

    assert len(events(drafts(document))) == 10_000


STRANGE = [None, True, 0, -1, 1.5, 2**70, "", "x", "\x00", [], {}, [[]], [None], {"a": 1}, [1, "a", None], "[1]",
           {"type": ["x"]}, {"type": "text", "text": 5}, {"x-kind": "note"},
           {"kind": "message", "role": ["u"]}]  # fmt: skip


def places(value, path=()):
    for key, child in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(child, (*path, key))


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.glob("*.vcon")))
def test_strange_values_anywhere_give_drafts_that_can_be_written_again(name):
    chance = random.Random(name)
    for _ in range(60):
        document = sample(name)
        for _ in range(chance.choice((1, 2, 5))):
            *above, last = chance.choice(list(places(document)))
            holder = document
            for step in above:
                holder = holder[step]
            holder[last] = copy.deepcopy(chance.choice(STRANGE))
        try:
            found = drafts(document)
        except FormatError:
            continue
        for draft, held in sessions(found):
            assert len({event.key for event in held}) == len(held)
            drafts(written(draft, held))


def test_bytes_flipped_anywhere_are_read_or_refused():
    chance = random.Random(4)
    good = (SAMPLES / "late-van.legacy.vcon").read_bytes()
    for _ in range(300):
        data = bytearray(good)
        data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            drafts(bytes(data))
        except FormatError as refusal:
            assert str(refusal)


def test_damaged_cbor_is_a_finding():
    chance = random.Random(5)
    document = sample("go-on.by-order.vcon")
    item = document["analysis"][0]
    for _ in range(200):
        item |= {"encoding": "base64url", "body": b64(chance.randbytes(chance.randrange(1, 40)))}
        assert findings(drafts(document), "R57") or findings(drafts(document), "R69")


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("a26161182a6162f5", {"a": 42, "b": True}),
        ("9f010203ff", [1, 2, 3]),
        ("c11a514b67b0", 1363896240),
        ("43010203", "AQID"),
        ("fb3ff199999999999a", 1.1),
        ("f97c00", None),
        ("3903e7", -1000),
        ("bf6161f6ff", {"a": None}),
    ],
)
def test_cbor_is_read_as_rfc_8949_has_it(data, value):
    assert cbor.loads(bytes.fromhex(data)) == value


@pytest.mark.parametrize("data", ["", "ff", "18", "9f01", "5f01ff", "1c", "bf01ff", "0000", "7f6161f6ff", "81" * 300])
def test_cbor_that_is_not_well_formed_is_a_value_error(data):
    with pytest.raises(ValueError, match="CBOR"):
        cbor.loads(bytes.fromhex(data))


class Pieces:
    """A large document that is never held: bytes, or a count of letters."""

    def __init__(self, *parts):
        self._parts = parts
        self.seek(0)

    def seek(self, _place):
        self._bytes = self._flow()
        self._rest, self._given = b"", 0

    def _flow(self):
        for part in self._parts:
            if isinstance(part, bytes):
                yield part
            else:
                for start in range(0, part, 65536):
                    yield b"Q" * min(65536, part - start)

    def tell(self):
        return self._given

    def read(self, size=-1):
        while size < 0 or len(self._rest) < size:
            piece = next(self._bytes, None)
            if piece is None:
                break
            self._rest += piece
        cut = len(self._rest) if size < 0 else size
        piece, self._rest = self._rest[:cut], self._rest[cut:]
        self._given += len(piece)
        return piece


def test_a_long_recording_stays_in_the_file_and_does_not_cost_its_size():
    document = sample("suitcase.call.vcon")
    document["dialog"][1] |= {"encoding": "base64url", "body": "@"}
    head, tail = bytes_of(document).split(b"@")
    tracemalloc.start()
    found = list(vcon.read(Pieces(head, 120_000_000, tail)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    event = events(found)[1]

    assert peak < 60_000_000
    assert event.data["elided"] == {"x-elided": "/dialog/1/body", "bytes": 120_000_000}
    assert [finding.path for finding in findings(found, "R112")] == ["/dialog/1/body"]
    assert [other.text for other in events(found)[2:]] == [
        "Where is my suitcase?",
        "Your suitcase is in Faro.",
        "Rui → Rui",
    ]


def test_content_left_in_the_source_file_is_a_loss_of_the_export():
    document = sample("suitcase.call.vcon")
    document["dialog"][1] |= {"encoding": "base64url", "body": "@"}
    head, tail = bytes_of(document).split(b"@")
    ((draft, held),) = sessions(list(vcon.read(Pieces(head, tree.SMALL, tail))))
    losses = Losses()
    exported = json.loads(written(draft, held, losses))

    assert "body" not in exported["dialog"][1]
    assert {"long strings", "body of a dialog"} <= {row["what"] for row in losses.rows()}


def test_a_large_signed_file_is_opened_all_the_same():
    document = sample("suitcase.call.vcon")
    document["dialog"][1] |= {"encoding": "base64url", "body": "Q" * tree.SMALL}

    assert len(events(drafts(signed(bytes_of(document))))) == 5


@pytest.mark.parametrize("chunk", [1, 3, 1000, 10**7])
def test_strings_are_left_out_only_when_they_are_long(chunk):
    texts = [
        'a"b',
        "\\",
        "\\\\",
        '\\"',
        "x" * (LONG_STRING - 2),
        "y" * (LONG_STRING - 1),
        "z" * (3 * LONG_STRING) + '"\\',
        "end",
    ]
    source = io.BytesIO(json.dumps({"k" * 10: texts}).encode())
    elider = Elider(source)
    out = b""
    while piece := elider.read(chunk):
        out += piece
        if chunk < 3 and len(out) > 2000:
            out += elider.read()
    kept = json.loads(out)["k" * 10]

    assert kept[:5] == texts[:5] and kept[7] == "end"
    assert [text.startswith("\x00elided:") for text in kept[5:7]] == [True, True]
    assert kept[5] == f"\x00elided:{LONG_STRING - 1}"
