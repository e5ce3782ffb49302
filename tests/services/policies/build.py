"""Rules in force and calls that are judged by them."""

from __future__ import annotations

from typing import Any

from sessions_app.models import Approval, PolicyVersion, Session, Workspace
from sessions_app.services import audit
from sessions_app.services.approvals import requests
from sessions_app.services.policies import versions

AGENT = audit.Actor("agent", "", "Parrot")


def in_force(workspace: Workspace, *rules: dict[str, Any]) -> PolicyVersion:
    """A version with these rules, published."""
    version = versions.save_draft(workspace.id, list(rules), by=audit.COMMAND)
    versions.publish(version, by=audit.COMMAND)
    return version


def ask(session: Session, tool: str = "pay", arguments: Any = None, **about: Any) -> Approval:
    question = requests.Question(tool, {} if arguments is None else arguments, **about)
    return requests.request(session, question, by=AGENT)
