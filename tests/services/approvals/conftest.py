"""People and keys that decide."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from sessions_app.models import Member, Role
from sessions_app.services import audit
from sessions_app.services.approvals.decisions import Decider
from sessions_app.services.people import api_keys


@pytest.fixture
def person(workspace):
    """Makes a member, as who decides on a page."""

    def make(name: str, role: Role = Role.REVIEWER, **more) -> Decider:
        user = get_user_model().objects.create_user(f"{name.lower()}@example.org", first_name=name, **more)
        member = Member.objects.create(workspace=workspace, user=user, role=role)
        return Decider(audit.Actor("member", str(member.pk), name), role, "web", member_id=member.pk)

    return make


@pytest.fixture
def key_of(workspace):
    """Makes an API key of a member, or of nobody."""

    def make(maker: Decider | None = None, name: str = "robot") -> Decider:
        key, _ = api_keys.create_api_key(
            workspace, name, Role.REVIEWER, by=maker.actor if maker else audit.COMMAND
        )  # fmt: skip
        return Decider(audit.Actor("api_key", str(key.pk), name), Role.REVIEWER, "api", api_key_id=key.pk)

    return make
