"""Rules that mark sessions by themselves: which are on, and in how many sessions each found something."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.models import Workspace
from sessions_app.queries.sessions import run_findings
from sessions_app.services import workspaces

from ..auth import admin, reader
from ..parsing import reply
from ..problems import invalid
from ..schemas.summary import FindingRule, FindingRules, RulesOff

router = Router(tags=["reviews"])


@router.get("/finding-rules", auth=reader, response=FindingRules)
def list_rules(request: HttpRequest) -> HttpResponse:
    """List all rules. One that is off still looks; what it found is shown again once it is turned on."""
    return reply(_rules(request.auth.workspace))


@router.patch("/finding-rules", auth=admin, response=FindingRules)
def turn_off(request: HttpRequest, wanted: RulesOff) -> HttpResponse:
    """Turn exactly these rules off, and all others on. 422 for a name that is no rule."""
    workspace = request.auth.workspace
    try:
        workspace.rules_off = workspaces.turn_rules_off(workspace.id, wanted.off, by=request.auth.actor)
    except workspaces.Refused as refused:
        raise invalid("/off", str(refused)) from None
    return reply(_rules(workspace))


def _rules(workspace: Workspace) -> FindingRules:
    return FindingRules(items=[FindingRule.from_state(state) for state in run_findings.states(workspace)])
