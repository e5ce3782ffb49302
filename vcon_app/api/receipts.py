"""Receipts of decisions: signed statements that are checked with nothing but a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from sessions_app.api.auth import own_reader
from sessions_app.api.parsing import reply
from sessions_app.api.problems import Problem, not_found
from sessions_app.models import Approval
from vcon_app.services.receipts import issuing
from vcon_app.services.receipts.statements import NoReceipt
from vcon_app.signing import jws, receipt
from vcon_app.signing.keys import BadKey
from vcon_app.views.receipts import attachment

router = Router(tags=["approvals"])
FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {
    NoReceipt: lambda error: Problem(409, str(error)),
    BadKey: lambda error: Problem(500, f"the key that receipts are signed with cannot be used: {error}"),
}
JSON = "application/json"


class Receipt(BaseModel):
    """A receipt, with what it states in readable form."""

    receipt: str = Field(description="compact JWS (RFC 7515): the receipt itself")
    statement: dict[str, Any] = Field(description="its payload, readable; docs/proof.md says what each member means")


@router.get(
    "/approvals/{uuid:approval_id}/receipt",
    auth=own_reader,
    response=Receipt,
    openapi_extra={"responses": {200: {"content": {receipt.MEDIA_TYPE: {"schema": {"type": "string"}}}}}},
)
def read_receipt(
    request: HttpRequest,
    approval_id: UUID,
    arguments: Annotated[bool, Query(description="with the text that was decided on, not only its digest")] = False,
) -> HttpResponse:
    """Return the receipt of a decision, a signed statement: as `application/jose`, or with `Accept: application/json`
    as JSON.

    409 while it is pending or can still be taken back, for a decision that an imported file tells of, and where the
    audit log has been changed.
    """
    approval = Approval.objects.filter(request.auth.sees_approvals(), pk=approval_id).first()
    if approval is None:
        raise not_found("approval")
    return answer(request, approval, with_arguments=arguments)


def answer(request: HttpRequest, approval: Approval, *, with_arguments: bool) -> HttpResponse:
    """The receipt in the form that was asked for. Raises ``NoReceipt``, ``BadKey``."""
    issued = issuing.issue(approval, with_arguments=with_arguments)
    if request.get_preferred_type([receipt.MEDIA_TYPE, JSON]) == JSON:
        payload = jws.unbase64url(issued.split(".")[1])
        response = reply(Receipt(receipt=issued, statement=receipt.read(payload)))
    else:
        response = attachment(approval.pk, issued)
    response.headers["Vary"] = "Accept"
    response.headers["Cache-Control"] = "private, no-store"
    return response
