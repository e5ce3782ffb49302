"""Formats say what can be chosen; what is chosen is checked, kept, and part of what a file is."""

from __future__ import annotations

import json
import re

import pytest

from sessions_app.models import AuditEntry
from vcon_app import registry
from vcon_app.drafts import Option
from vcon_app.formats.contract import Spec
from vcon_app.models import Export
from vcon_app.services.exports import export_jobs, export_options

from ..build import append, call, event, result, user
from ..imports.test_imports import BY
from .test_exports import content, export


class Chat:
    """A format of somebody else's, with choices."""

    SPEC = Spec(
        name="chat",
        title="Chat",
        media_type="text/plain",
        suffix=".txt",
        options=(
            Option("speaker", "Names", (("full", "in full"), ("first", "first names only"))),
            Option("times", "With times"),
        ),
    )

    def write(self, session, events, losses, *, options):
        if not options["times"]:
            losses.lose("times", "they were not asked for", len(events))
        yield json.dumps([options["speaker"], options["times"]]).encode()


@pytest.fixture
def chat_format(monkeypatch):
    known = {**registry.all_formats(), "chat": Chat()}
    monkeypatch.setattr(registry, "all_formats", lambda: known)


@pytest.mark.parametrize(
    ("said", "given"),
    [
        ({}, ["full", False]),
        ({"speaker": "first"}, ["first", False]),
        ({"times": "true"}, ["full", True]),
        ({"times": True, "speaker": "full"}, ["full", True]),
        ({"times": "0"}, ["full", False]),
    ],
)
def test_a_writer_is_given_every_option_of_its_format(session, chat_format, said, given):
    assert json.loads(content(export(session, "chat", options=said))) == given


@pytest.mark.parametrize(
    ("format", "said", "says", "parameter"),
    [
        ("chat", {"speaker": "last"}, 'speaker is "last"; it is one of full, first', "speaker"),
        ("chat", {"times": "maybe"}, 'times is "maybe"; it is true or false', "times"),
        ("chat", {"colour": "red"}, '"chat" has no option "colour"; it has speaker, times', "colour"),
        ("jsonl", {"times": "true"}, '"jsonl" has no option "times"; it has none', "times"),
        ("chat", {"signed": "maybe"}, "true or false", "signed"),
    ],
)
def test_invalid_export_option_is_refused_before_anything_is_stored(
    session, chat_format, format, said, says, parameter
):
    with pytest.raises(export_options.CannotExport, match=says) as refused:
        export(session, format, options=said)
    assert refused.value.parameter == parameter
    assert not Export.objects.exists() and not AuditEntry.objects.filter(action="session.exported").exists()


def test_chosen_options_are_stored_and_audited_but_defaults_are_not(session, chat_format):
    made = export(session, "chat", options={"speaker": "full", "times": "true"})
    assert made.options == {"times": True}
    assert AuditEntry.objects.get(action="session.exported").details == {"format": "chat", "options": {"times": True}}


def test_a_report_makes_no_export_and_says_of_nobody_that_they_took_it(session, chat_format):
    append(session, user(), event())
    assert export_jobs.report(session, "chat") == [{"what": "times", "why": "they were not asked for", "count": 2}]
    assert export_jobs.report(session, "chat", {"times": "true"}) == []
    assert not Export.objects.exists() and not AuditEntry.objects.filter(action="session.exported").exists()


@pytest.mark.parametrize("format", sorted(registry.writers()))
def test_loss_report_equals_the_losses_of_the_export(session, format):
    append(session, user(), call("a"), result("a"), event("unknown", data={"raw": [1]}))
    assert export_jobs.report(session, format) == export(session, format).losses


def test_another_choice_is_another_vcon_and_the_same_choice_the_same(session):
    append(session, user("one"))
    plain, text, again = (export(session, "vcon", options=said).identity for said in ({}, *[{"bodies": "string"}] * 2))
    assert text == again
    assert text["uuid"] != plain["uuid"]
    assert export(session, "vcon", options={"bodies": "json"}).identity == plain


def test_declared_export_options_can_be_shown_and_entered():
    for name, found in export_options.all_options().items():
        assert re.fullmatch(r"[a-z][a-z_]*", name) and name not in ("format", "output", *export_options.FORMS)
        for format, option in found:
            assert option.title and len({value for value, _ in option.choices}) == len(option.choices), (format, name)
            assert not option.choices or len(option.choices) > 1


def test_audit_entry_of_a_default_export_names_no_options(session):
    export_jobs.start_export(session, "jsonl", by=BY)
    assert AuditEntry.objects.get(action="session.exported").details == {"format": "jsonl"}


def test_a_report_after_the_same_export_is_what_it_said_and_nothing_is_written_again(session, chat_format, monkeypatch):
    append(session, event())
    made = export(session, "chat")
    monkeypatch.setattr(Chat, "write", None)
    assert export_jobs.report(session, "chat") == made.losses
    with pytest.raises(TypeError):
        export_jobs.report(session, "chat", {"times": "true"})
