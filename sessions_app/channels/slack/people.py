"""Persons in Slack: their name, whether they are an outsider, and which member of the desk they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sessions_app.models import Member, SlackInstallation

from . import api


@dataclass(frozen=True, slots=True)
class Person:
    """``outsider`` says why they are one: empty for a full member of the installation's own Slack workspace."""

    id: str
    name: str
    teams: tuple[str, ...] = ()
    email: str = ""
    """Empty unless Slack has it confirmed."""
    outsider: str = ""


def look_up(installation: SlackInstallation, user_id: str) -> Person:
    """Ask Slack. Who cannot be looked up is an outsider. Raises ``api.Away``."""
    try:
        user = api.call_for(installation, "users_info", user=user_id)["user"]
    except api.Refused as refused:
        return Person(user_id, user_id, outsider=f"who they are could not be learned ({refused.code})")
    return _person(user, installation.team_id)


def _person(user: dict[str, Any], team_id: str) -> Person:
    profile = user.get("profile") or {}
    named = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"), user.get("name"))
    grid = user.get("enterprise_user") or {}
    teams = tuple(filter(None, (user.get("team_id"), *grid.get("teams", ()))))
    trusted = user.get("is_email_confirmed") and not user.get("deleted") and not user.get("is_bot")
    return Person(
        id=user["id"],
        name=next(filter(None, named), user["id"]),
        teams=teams,
        email=str(profile.get("email") or "") if trusted else "",
        outsider=_why_outsider(user, teams, team_id),
    )


def _why_outsider(user: dict[str, Any], teams: tuple[str, ...], team_id: str) -> str:
    """Slack marks guests as restricted, and people whom a shared channel brings as strangers."""
    if user.get("is_stranger") or team_id not in teams:
        return "they belong to another Slack workspace"
    if user.get("is_restricted") or user.get("is_ultra_restricted"):
        return "they are a guest"
    return ""


def why_not(installation: SlackInstallation, person: Person) -> str:
    """Why the person may not talk to the agent, by the installation's policy for outsiders; empty when they may."""
    if not person.outsider or installation.outsiders == SlackInstallation.Outsiders.ALL:
        return ""
    if installation.outsiders == SlackInstallation.Outsiders.ALLOW_LIST:
        if {person.id, *person.teams} & set(installation.allow_list):
            return ""
        return f"{person.outsider} and are not on the allow list"
    return f"{person.outsider}, and outsiders are rejected"


def member_of(installation: SlackInstallation, person: Person) -> Member | None:
    """The member of the workspace with the e-mail that Slack has confirmed; no outsider is one."""
    if person.outsider or not person.email:
        return None
    here = Member.objects.select_related("user", "workspace").filter(workspace_id=installation.workspace_id)
    found = list(here.filter(user__email__iexact=person.email, user__is_active=True)[:2])
    return found[0] if len(found) == 1 else None
