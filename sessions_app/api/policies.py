"""Policies: rules for calls of agents, their versions, and what they would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app import models
from sessions_app.policy.faults import Invalid
from sessions_app.queries import deciders
from sessions_app.queries import policies as queries
from sessions_app.services.policies import preview as previews
from sessions_app.services.policies import versions

from .auth import admin, reader
from .idempotency import once
from .paging import Cursor, Limit, Page, keyset
from .parsing import refuse_repaired, reply
from .problems import Problem, not_found
from .schemas.common import NOTHING, NoBody
from .schemas.policies import (
    Difference,
    NewPolicy,
    NewVersion,
    Policy,
    Preview,
    PreviewOf,
    Publication,
    Shadowed,
    Version,
    VersionName,
)  # fmt: skip

router = Router(tags=["policies"])
Since = Annotated[int, Query(description="number of the version to compare with")]
MAX_ERRORS = 50


def invalid_rules(error: Invalid) -> Problem:
    """422 with every fault and where it is."""
    errors = [{"pointer": fault.pointer, "detail": fault.message} for fault in error.faults[:MAX_ERRORS]]
    count = len(error.faults)
    first = error.faults[0].message
    return Problem(422, first if count == 1 else f"{count} things are wrong, the first: {first}", errors=errors)


FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {
    Invalid: invalid_rules,
    versions.Conflict: lambda error: Problem(409, str(error)),
}


@router.get("/policy", auth=reader, response=Policy)
def read_policy(request: HttpRequest) -> HttpResponse:
    """Return the rules in force, and which versions are live, in shadow and newest."""
    return _policy(request)


@router.put("/policy", auth=admin, response=Policy)
def put_policy(request: HttpRequest, policy: NewPolicy) -> HttpResponse:
    """Put rules in force as a new version, from the next call on. 409 when `seen` is sent and no longer in force."""
    refuse_repaired(request)
    versions.put_in_force(
        request.auth.workspace.id, policy.rules, by=request.auth.actor, note=policy.note, seen=policy.seen
    )  # fmt: skip
    return _policy(request)


@router.post("/policy/preview", auth=reader, response=Preview)
def preview(request: HttpRequest, draft: PreviewOf) -> HttpResponse:
    """Replay the last 1,000 calls of the workspace against a draft and against the rules in force.
    Nothing is changed.
    """
    refuse_repaired(request)
    workspace_id = request.auth.workspace.id
    return reply(Preview.of(previews.replay(workspace_id, draft.rules), deciders.warnings(workspace_id, draft.rules)))


@router.get("/policy/shadow", auth=reader, response=Shadowed)
def read_shadow(request: HttpRequest) -> HttpResponse:
    """Return what the version in shadow would have decided otherwise, among the last 1,000 calls that it judged."""
    version = queries.state_of(request.auth.workspace.id).shadow
    if version is None:
        return reply(Shadowed.of(None, 0, []))
    found = queries.shadowed(request.auth.workspace.id, version)
    return reply(Shadowed.of(version, found.calls, found.differing))


@router.delete("/policy/shadow", auth=admin, response={204: None})
def end_shadow(request: HttpRequest) -> HttpResponse:
    """End the shadow: no version judges calls beside the live one any more. Without one nothing changes."""
    versions.put_in_shadow(request.auth.workspace.id, None, by=request.auth.actor)
    return HttpResponse(status=204)


@router.get("/policy/versions", auth=reader, response=Page[VersionName])
def list_policy_versions(request: HttpRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the versions of the rules, newest first, without the rules themselves."""
    rows, next_cursor = keyset(queries.versions_of(request.auth.workspace.id), "number", limit, cursor, int)
    items = [name for row in rows if (name := VersionName.of(row))]
    return reply(Page(items=items, next_cursor=next_cursor))


@router.post("/policy/versions", auth=admin, response={201: Version})
@once
def save_version(request: HttpRequest, draft: NewVersion) -> HttpResponse:
    """Save rules as a new version, without effect. The rules of the newest one, without `note`, make no new version."""
    refuse_repaired(request)
    kept = versions.save_draft(request.auth.workspace.id, draft.rules, by=request.auth.actor, note=draft.note)
    return reply(Version.from_row(kept), 201)


@router.get("/policy/versions/{int:number}", auth=reader, response=Version)
def read_version(request: HttpRequest, number: int) -> HttpResponse:
    """Return a version with its rules."""
    return reply(Version.from_row(_version(request, number)))


@router.get("/policy/versions/{int:number}/changes", auth=reader, response=Difference)
def read_changes(request: HttpRequest, number: int, since: Since) -> HttpResponse:
    """Return what changed in each rule since another version."""
    return reply(Difference.between(_version(request, since), _version(request, number)))


@router.post("/policy/versions/{int:number}/publish", auth=admin, response=Policy)
def publish(request: HttpRequest, number: int, publication: Publication) -> HttpResponse:
    """Put a version in force, from the next call on. 409 when `seen` is sent and no longer in force."""
    versions.publish(
        _version(request, number), by=request.auth.actor, seen=publication.seen, reason=publication.reason
    )  # fmt: skip
    return _policy(request)


@router.post("/policy/versions/{int:number}/restore", auth=admin, response=Policy)
@once
def restore(request: HttpRequest, number: int, publication: Publication) -> HttpResponse:
    """Put an older version's rules in force again, as a new version. 409 when `seen` is sent and no longer in force."""
    versions.roll_back(
        _version(request, number), by=request.auth.actor, seen=publication.seen, reason=publication.reason
    )  # fmt: skip
    return _policy(request)


@router.post("/policy/versions/{int:number}/shadow", auth=admin, response=Policy)
def put_in_shadow(request: HttpRequest, number: int, body: NoBody = NOTHING) -> HttpResponse:
    """Put a version in shadow, in place of the one there: it judges every call beside the live one, without effect."""
    versions.put_in_shadow(request.auth.workspace.id, _version(request, number), by=request.auth.actor)
    return _policy(request)


def _policy(request: HttpRequest) -> HttpResponse:
    state = queries.state_of(request.auth.workspace.id)
    warnings = deciders.warnings(request.auth.workspace.id, state.live.rules) if state.live else []
    return reply(Policy.of_state(state, warnings))


def _version(request: HttpRequest, number: int) -> models.PolicyVersion:
    found = None
    if 0 < number < 2**31:
        found = queries.versions_of(request.auth.workspace.id).filter(number=number).first()
    if found is None:
        raise not_found("version of the policy")
    return found
