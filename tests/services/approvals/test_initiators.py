"""Who began a turn is known when a call is asked about: a rule may forbid that they decide it."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from sessions_app.models import Member
from sessions_app.services import audit
from sessions_app.services.log import events, links
from sessions_app.services.triggers import schedules

from ..build import answer, user
from .test_decisions import ask

pytestmark = pytest.mark.django_db


def say(session, actor: audit.Actor, **data) -> None:
    events.append(session.pk, [user("Refund it", data=data), answer()], origin=links.sent_by(actor))


def test_it_is_who_wrote_last_or_whose_key_did(session, person, key_of):
    ines, omar = person("Ines"), person("Omar")
    ids = [Member.objects.get(pk=one.member_id).user_id for one in (ines, omar)]
    assert ask(session).initiated_by_id is None
    say(session, ines.actor)
    assert ask(session).initiated_by_id == ids[0]
    say(session, key_of(omar).actor)
    assert ask(session).initiated_by_id == ids[1]
    say(session, key_of().actor)
    assert ask(session).initiated_by_id is None


def test_in_slack_it_is_the_member_that_the_sender_is(session, person):
    ines = person("Ines")
    say(session, audit.Actor("slack", "U1", "ines"), slack={"member": str(ines.member_id)})
    assert ask(session).initiated_by.email == get_user_model().objects.get().email
    say(session, audit.Actor("slack", "U2", "stranger"), slack={"user": "U2"})
    assert ask(session).initiated_by_id is None
    forged = {"slack": {"member": str(ines.member_id)}}
    say(session, audit.Actor("webhook", "x", "Ines"), **forged)
    assert ask(session).initiated_by_id is None


def test_of_a_schedule_it_is_who_made_it(scripted_agent, person):
    schedule = schedules.create(
        scripted_agent, by=person("Ines").actor, name="Daily", cron="0 9 * * *", timezone="UTC", input_text="Go",
        enabled=False, missed="skip", overlap="allow",
    )  # fmt: skip
    run = schedules.run_now(schedule, by=audit.COMMAND)
    assert ask(run.session).initiated_by == get_user_model().objects.get()
