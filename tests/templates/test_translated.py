"""Every word of a template passes through gettext: what stands here in plain text could not be said in German."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.places import ROOT

from .words import traps, untranslated

TEMPLATES = ROOT / "templates"


def folders() -> dict[str, list[Path]]:
    """Name of each folder of templates -> its files."""
    found: dict[str, list[Path]] = {}
    for path in sorted(TEMPLATES.rglob("*.html")):
        found.setdefault(path.parent.relative_to(TEMPLATES).as_posix(), []).append(path)
    return found


def left_in(folder: str) -> list[str]:
    """``file:line: words`` of what a folder says in English only."""
    return [
        f"{path.relative_to(ROOT)}:{one.line}: {one.words}"
        for path in folders()[folder]
        for one in untranslated(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("folder", sorted(folders()))
def test_every_word_is_translated(folder):
    left = left_in(folder)
    assert not left, "\n" + "\n".join(left)


def test_no_sheet_has_words_of_its_own():
    """What a sheet adds to a page comes from the page (``attr``): gettext reads no CSS."""
    sheets = sorted((ROOT / "static" / "css").glob("*.css"))
    assert sheets
    added = [said for sheet in sheets for said in re.findall(r"content:([^;}]*)", sheet.read_text(encoding="utf-8"))]
    assert [said for said in added if re.search(r'"[^"]*[A-Za-z]{2}[^"]*"', said)] == []


def test_sentences_have_the_values_that_they_name():
    found = {path.relative_to(ROOT): traps(path.read_text(encoding="utf-8")) for path in TEMPLATES.rglob("*.html")}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_trap_is_found():
    assert traps("{% blocktranslate %}{{ waiting_count }} wait{% endblocktranslate %}") == ["waiting_count"]
    assert traps("{% blocktranslate with a=a|count count n=a %}{{ a }}{% plural %}{{ a }}{% endblocktranslate %}") == [
        "a"
    ]
    assert traps("{% blocktranslate with a=b.a|count count n=b.a %}{{ a }}{% endblocktranslate %}") == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("<p>Go home</p>", "Go home"),
        ("<p>{{ n }} left</p>", "… left"),
        ("<p{% if x %} class='a > b'{% endif %}>\n  Wait\n</p>", "Wait"),
        ('<a title="Go {{ there }}"></a>', '"Go …"'),
        ("<b{% if x %}\n aria-label='Close it'{% endif %}></b>", "'Close it'"),
        ('{{ reason|default:"none given" }}', '"none given"'),
        ('{{ ", asked by " }}', '", asked by "'),
        ('{{ open|yesno:"Pause,Resume" }}', '"Pause,Resume"'),
        ('{% include "x.html" with none="Nothing here" %}', '"Nothing here"'),
        ('{% nav_link "home" "Home" %}', '"Home"'),
        ("<code>x</code> then", "then"),
        ("<pre>a</pre>{% translate 'b' %}<p>Slack is on</p>", "Slack is on"),
        ("{% blocktranslate %}a{% endblocktranslate %} and b", "… and b"),
    ],
)
def test_words_are_found(source, words):
    assert [one.words.lstrip("…") for one in untranslated(source)] == [words.lstrip("…")]


@pytest.mark.parametrize(
    "source",
    [
        "<p>{% translate 'Go home' %}</p>",
        '<a title="{% translate "Go home" %}" href="/go/home">{{ name }} · 3</a>',
        "{% blocktranslate trimmed count n=n %}One <b>thing</b>{% plural %}{{ n }} things{% endblocktranslate %}",
        "<code>manage.py</code> <kbd>Ctrl</kbd> <script>let a = 1</script>",
        "<!-- a comment --> {# another #} {% comment %}and one{% endcomment %} &nbsp; &middot; Countersign",
        '{% include "a/b.html" with a=b kind="plain" c=_("Nothing here") %}{{ at|date:"U" }}',
        '{{ reason|default:_("none given") }}<p class="two words" data-id="a b"></p>',
    ],
)
def test_what_is_translated_or_no_word_is_not_found(source):
    assert untranslated(source) == []


def test_the_line_is_the_one_of_the_words():
    assert [one.line for one in untranslated("{% if a %}\n<p>\n\n  Here\n</p>{% endif %}")] == [4]
