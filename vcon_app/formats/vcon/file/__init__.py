"""A vCon file as bytes: from bytes to a tree of today's names, with findings for what is odd, and from a tree to bytes.

``forms`` opens a file (gzip, JWS, JWE), ``tree`` parses its JSON within limits, ``normalise`` gives members their names
of core-04, ``content`` reads the body of one item, ``seal`` signs, checks, encrypts and decrypts, ``layout`` writes
JSON, ``vconz`` reads zip bundles. Nothing here knows what an agent session is.
"""

from . import vconz
from .as_found import ADDED, AS_FOUND, put_back, set_aside
from .content import ENCODINGS, HASHES, Content, canonical, check_hash, digest_of, resolve
from .duplicate_keys import report_in_cbor
from .elide import ELIDED, LONG_STRING, Elided
from .forms import ARRAYS, UNREAD_ARRAYS, OpenedVcon, decode_base64, detect, open_vcon
from .layout import (
    ANALYSIS_MEMBERS,
    ATTACHMENT_MEMBERS,
    DIALOG_MEMBERS,
    PARTY_MEMBERS,
    NestedObjects,
    dumps,
    in_large_pieces,
    in_member_order,
    indented_json,
    json_array,
    json_string,
)
from .normalise import CRITICAL, EMPTY, TOP, Container, mediatype, normalise
from .notes import MARK, Notes, point, shown
from .seal import encrypt, sign, signs_with, unseal, verify
from .tree import DEEPEST, Unzipped, load_json, parse_json, parse_json_text
from .typed import check_types
from .uuid8 import uuid8

__all__ = [
    "ADDED", "ANALYSIS_MEMBERS", "ARRAYS", "AS_FOUND", "ATTACHMENT_MEMBERS", "CRITICAL", "DEEPEST",
    "DIALOG_MEMBERS", "ELIDED", "EMPTY", "ENCODINGS", "HASHES", "LONG_STRING", "MARK", "PARTY_MEMBERS", "TOP",
    "UNREAD_ARRAYS", "Container", "Content", "Elided", "NestedObjects", "Notes", "OpenedVcon", "Unzipped",
    "canonical", "check_hash", "check_types", "decode_base64", "detect", "digest_of", "dumps", "encrypt",
    "in_large_pieces", "in_member_order", "indented_json", "json_array", "json_string", "load_json", "mediatype",
    "normalise", "open_vcon", "parse_json", "parse_json_text", "point", "put_back", "report_in_cbor", "resolve",
    "set_aside", "shown", "sign", "signs_with", "unseal", "uuid8", "vconz", "verify",
]  # fmt: skip
