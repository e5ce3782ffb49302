"""What scripts say passes through gettext, too, and a language brings its words with the page."""

from __future__ import annotations

import json
import re
import struct

import pytest
from django.utils import translation

from sessions_app.views import script_words
from tests.places import ROOT

SCRIPTS = sorted(path for path in (ROOT / "static" / "js").rglob("*.js") if path.name != "service-worker.js")
"""All but the one that runs without a page: what it shows comes with the push, from the desk."""
SHOWN = re.compile(
    r"(?:\.(?:textContent|title|ariaLabel|placeholder|innerText)\s*=(?!=)"
    r"|setAttribute\(\"(?:aria-label|aria-valuetext|title|placeholder|alt)\",|new Error\(|detail:|say\(|fail\(|tell\("
    r"|showError\(|button\(|replaceChildren\(|\breturn)(?P<rest>[^;]*)"
)
"""Where a script puts something before people; ``return`` for the functions that make sentences."""
LITERAL = re.compile(r'(?P<call>\b(?:gettext|ngettext)\()|"(?P<plain>[^"\n]*)"|`(?P<filled>[^`]*)`')
SENTENCE = re.compile(r"[A-Za-z…]{2,}[.,:;…]? +[A-Za-z]|^[A-Z][a-z]+(?: \w+)?[.…]?$|\} [a-z]{2,}|\b[a-z]{2,} \$\{")
MARKUP = re.compile(
    r"^[.#\[<:]|[<>=\[\]/]|^(?:GET|POST|Enter|Escape|Home|End|Infinity|Tab|Array\w+|Page\w+|Accept|Files)$"
)
"""Selectors, addresses, names of keys."""


def said_in_english(source: str) -> list[str]:
    """Literals that a script puts before people without gettext."""
    source = re.sub(r"^\s*//.*$|(?<=[;,{] )// .*$", "", source, flags=re.M)
    found = []
    for place in SHOWN.finditer(source):
        rest = _without_calls(place["rest"])
        for literal in LITERAL.finditer(rest):
            text = literal["plain"] or literal["filled"] or ""
            if SENTENCE.search(text) and not MARKUP.search(text):
                found.append(text)
    return found


def _without_calls(code: str) -> str:
    """Code without the calls of gettext and all that stands in their parentheses."""
    kept, depth = "", 0
    for piece in re.split(r"(\bn?gettext\(|[()])", code):
        if depth or piece in ("gettext(", "ngettext("):
            depth += piece.endswith("(") - (piece == ")")
        else:
            kept += piece
    return kept


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_say_nothing_in_english_only(path):
    assert said_in_english(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('button.textContent = "Copied";', ["Copied"]),
        ('say(ok ? gettext("Sent") : "It was not sent.");', ["It was not sent."]),
        ("pill.textContent = `${count} new`;", ["${count} new"]),
        ('throw new Error(`The server answered ${status}.`);', ["The server answered ${status}."]),
        ('button.textContent = gettext("Copied (%(n)s)", { n: (1) }); // "Not me"', []),
        ('place.title = one.dataset.title; return document.querySelector("details[open] summary");', []),
        ('edge.setAttribute("aria-label", "Width of it");', ["Width of it"]),
    ],
)  # fmt: skip
def test_words_of_a_script_are_found(source, found):
    assert said_in_english(source) == found


def test_messages_are_literals_that_xgettext_finds():
    """A message that is a variable, or a template with values in it, stands in no catalogue."""
    calls = re.compile(r"(?<![\w.])n?gettext\((?!\")[^\n]{0,60}")
    own = {"static/js/words.js"}
    odd = {
        f"{path.relative_to(ROOT)}": calls.findall(path.read_text(encoding="utf-8"))
        for path in SCRIPTS
        if f"{path.relative_to(ROOT)}" not in own
    }
    assert {name: found for name, found in odd.items() if found} == {}


def test_english_is_in_the_scripts():
    assert script_words.words_of_scripts() == ""


PO = rb"""msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);\n"

msgid "Copied"
msgstr "</script>!"

msgid "%(count)s comment"
msgid_plural "%(count)s comments"
msgstr[0] "one %(count)s"
msgstr[1] "few %(count)s"
msgstr[2] "many %(count)s"
"""


def test_a_language_brings_its_words_with_the_page(tmp_path, settings):
    folder = tmp_path / "pl" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "djangojs.mo").write_bytes(compiled(PO))
    settings.LOCALE_PATHS = [tmp_path]
    script_words._catalogue.cache_clear()
    try:
        with translation.override("pl"):
            html = script_words.words_of_scripts()
    finally:
        script_words._catalogue.cache_clear()
    told = json.loads(re.fullmatch(r'<script id="script-words" type="application/json">(.*)</script>', html, re.S)[1])
    assert told["catalogue"]["Copied"] == "</script>!"
    assert told["catalogue"]["%(count)s comment"] == ["one %(count)s", "few %(count)s", "many %(count)s"]
    assert [told["plural"][number] for number in (1, 2, 5, 12, 22, 101, 112)] == [*"0122102"]
    assert "</script>!" not in html


def compiled(po: bytes) -> bytes:
    """A catalogue as ``msgfmt`` makes it, which a desk needs not have."""
    messages: dict[bytes, bytes] = {}
    for block in po.strip().split(b"\n\n"):
        fields: dict[bytes, bytes] = {}
        name = b""
        for line in block.split(b"\n"):
            if line.startswith(b'"'):
                fields[name] += line[1:-1]
            else:
                name, text = line.split(b" ", 1)
                fields[name] = text[1:-1]
        key = fields[b"msgid"] + (b"\0" + fields[b"msgid_plural"] if b"msgid_plural" in fields else b"")
        forms = [fields[name] for name in sorted(fields) if name.startswith(b"msgstr")]
        messages[key] = b"\0".join(forms).replace(b"\\n", b"\n")
    keys = sorted(messages)
    ids, texts = b"".join(key + b"\0" for key in keys), b"".join(messages[key] + b"\0" for key in keys)
    first = 28 + 16 * len(keys)
    heads, at = b"", first
    for parts in (keys, [messages[key] for key in keys]):
        for part in parts:
            heads += struct.pack("<II", len(part), at)
            at += len(part) + 1
    return struct.pack("<7I", 0x950412DE, 0, len(keys), 28, 28 + 8 * len(keys), 0, first) + heads + ids + texts
