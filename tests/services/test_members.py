"""People and programs: who comes in, by which secret, and that somebody stays in charge."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from sessions_app.models import ApiKey, AuditEntry, Member, Role, SignInLink
from sessions_app.services import audit, workspaces
from sessions_app.services.people import api_keys, members, sign_in_links

from .build import at_once

pytestmark = pytest.mark.django_db
BY = audit.COMMAND


def member(workspace, email="ines@example.org", role=Role.ADMIN) -> Member:
    return members.add_member(workspace, email, "Ines", role, by=BY)[0]


def token(path: str) -> str:
    return path.strip("/").split("/")[-1]


def test_the_first_link_makes_an_admin_without_a_password(workspace):
    user = sign_in_links.use(token(members.one_time_link_for_first_admin())).user
    assert members.membership(user).role == Role.ADMIN
    assert not user.has_usable_password()


def test_the_next_start_gives_the_same_admin_a_new_link_and_ends_the_old_one(workspace):
    old, new = (token(members.one_time_link_for_first_admin()) for _ in range(2))
    assert sign_in_links.use(old) is None
    assert sign_in_links.use(new) is not None
    assert get_user_model().objects.count() == 1


def test_a_link_works_once(workspace):
    link = token(members.one_time_link_for_first_admin())
    assert sign_in_links.use(link) is not None
    assert sign_in_links.use(link) is None


@pytest.mark.django_db(transaction=True)
def test_a_link_works_once_for_two_at_once(workspace):
    link = token(members.one_time_link_for_first_admin())
    users = at_once(*[lambda: sign_in_links.use(link)] * 4)
    assert sum(user is not None for user in users) == 1


def test_a_link_ends_after_a_day(workspace):
    link = token(members.one_time_link_for_first_admin())
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert sign_in_links.use(link) is None


def test_an_unknown_link_is_nobody(db):
    assert sign_in_links.use("x") is None


def test_secrets_are_not_kept(workspace):
    key, secret = api_keys.create_api_key(workspace, "ci", Role.VIEWER, by=BY)
    link = token(members.one_time_link_for_first_admin())
    kept = [*SignInLink.objects.values().get().values(), *ApiKey.objects.values().get().values()]
    assert not any(part in str(value) for part in (secret, link) for value in kept)
    assert len(secret) > 40 and secret.startswith(key.prefix)


def test_a_key_is_found_by_its_secret_until_it_is_revoked(workspace):
    key, secret = api_keys.create_api_key(workspace, "ci", Role.REVIEWER, by=BY)
    assert api_keys.find_api_key(secret) == key
    assert api_keys.find_api_key(secret + "x") is None
    key.refresh_from_db()
    assert key.last_used_at is not None
    api_keys.revoke_api_key(key, by=BY)
    api_keys.revoke_api_key(key, by=BY)
    assert api_keys.find_api_key(secret) is None
    assert AuditEntry.objects.filter(action="api_key.revoked").count() == 1


def test_a_member_is_added_once(workspace):
    member(workspace, "Ines@Example.org ")
    with pytest.raises(members.Refused, match="ines@example.org is a member of this workspace already"):
        member(workspace, "ines@example.org")
    assert Member.objects.count() == 1


def test_somebody_with_an_account_is_not_added_but_has_to_be_invited(workspace):
    _, link = members.add_member(workspaces.create_workspace("other"), "else@example.org", "E", Role.VIEWER, by=BY)
    assert link.path
    with pytest.raises(members.HasAccount):
        members.add_member(workspaces.create_workspace("third"), "else@example.org", "E", Role.VIEWER, by=BY)
    assert Member.objects.filter(user__username="else@example.org").count() == 1


def test_the_last_admin_can_neither_step_down_nor_leave(workspace):
    last = member(workspace)
    member(workspace, "v@example.org", Role.REVIEWER)
    with pytest.raises(members.Refused, match="the only admin"):
        members.change_role(last, Role.VIEWER, by=BY)
    with pytest.raises(members.Refused, match="the only admin"):
        members.remove_member(last, by=BY)
    assert Member.objects.get(pk=last.pk).role == Role.ADMIN


def test_one_of_two_admins_can_leave(workspace):
    first, second = member(workspace), member(workspace, "b@example.org")
    members.change_role(first, Role.REVIEWER, by=BY)
    members.remove_member(first, by=BY)
    assert list(Member.objects.all()) == [second]


@pytest.mark.django_db(transaction=True)
def test_two_admins_who_step_down_at_once_leave_one(workspace):
    both = member(workspace), member(workspace, "b@example.org")
    results = at_once(*(lambda m=m: members.change_role(m, Role.VIEWER, by=BY) for m in both))
    assert sum(isinstance(result, members.Refused) for result in results) == 1
    assert Member.objects.filter(role=Role.ADMIN).count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_admins_who_leave_at_once_leave_one(workspace):
    both = member(workspace), member(workspace, "b@example.org")
    results = at_once(*(lambda m=m: members.remove_member(m, by=BY) for m in both))
    assert sum(isinstance(result, members.Refused) for result in results) == 1
    assert Member.objects.filter(role=Role.ADMIN).count() == 1


def test_a_new_workspace_has_the_admins_of_the_default_one(workspace):
    admin = member(workspace)
    other = workspaces.create_workspace("other")
    assert [m.user for m in other.members.all()] == [admin.user]
    with pytest.raises(workspaces.Refused, match='a workspace "other" already'):
        workspaces.create_workspace("other")


def test_roles_cover_those_below():
    assert Role.ADMIN.covers(Role.REVIEWER) and Role.REVIEWER.covers(Role.REVIEWER)
    assert not Role.VIEWER.covers(Role.REVIEWER)


def test_every_change_is_in_the_audit_log(workspace):
    person = member(workspace)
    member(workspace, "b@example.org")
    members.change_role(person, Role.VIEWER, by=BY)
    members.remove_member(person, by=BY)
    actions = AuditEntry.objects.order_by("seq").values_list("action", flat=True)
    assert list(actions) == ["member.added", "member.added", "member.role_changed", "member.removed"]
