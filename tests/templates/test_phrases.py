"""Phrases are English everywhere but where a page translates them."""

from __future__ import annotations

import json
import pickle

import orjson
from django.utils import translation

from sessions_app import phrases
from sessions_app.rendering import marks
from sessions_app.views.labels import label
from sessions_app.views.translated import translated

from . import pseudo


def spoken(text: str) -> str:
    with pseudo.spoken(), translation.override(pseudo.LANGUAGE):
        return str(translated(text))


def test_a_phrase_is_its_english_text():
    said = phrases.gettext("after %(time)s, 100 %% of it", time="3 m")
    assert said == "after 3 m, 100 % of it"
    assert json.dumps([said]) == orjson.dumps([said]).decode().replace('",', '", ') == '["after 3 m, 100 % of it"]'
    assert pickle.loads(pickle.dumps(said)) == said  # noqa: S301 - its own


def test_a_page_says_it_with_the_phrases_in_it():
    inner = phrases.ngettext("%(n)s call", "%(n)s calls", 2, n=2)
    assert (
        spoken(phrases.gettext("each of %(calls)s by %(who)s", calls=inner, who="Άννα"))
        == "⟦each of ⟦2 calls⟧ by Άννα⟧"
    )
    assert spoken(phrases.joined(" · ", [inner, "x"])) == "⟦⟦2 calls⟧ · x⟧"


def test_values_are_no_messages():
    assert spoken(phrases.gettext("said: %(said)s", said="100 %(time)s")) == "⟦said: 100 %(time)s⟧"
    assert spoken("running") == "running"


def test_badges_are_translated_and_unknown_states_are_not():
    assert spoken(marks.state_of("running").words) == "⟦running⟧"
    assert spoken(marks.state_of("strange_state").words) == "strange state"


def test_labels_of_choices_are_listed():
    with pseudo.spoken(), translation.override(pseudo.LANGUAGE):
        assert label("archived") == "⟦archived⟧"
        assert label("Nobody's label") == "Nobody's label"
