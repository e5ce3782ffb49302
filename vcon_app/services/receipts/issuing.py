"""Receipts as they leave: signed with the key of the installation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from uuid import UUID

from django.db.models import QuerySet

from sessions_app.models import Approval
from vcon_app.signing import receipt
from vcon_app.signing.signers import Signer

from ..trust import own_keys
from .statements import NoReceipt, recorded, statement_of, with_rows

PAGE = 500


def issue(approval: Approval, *, with_arguments: bool = False) -> str:
    """The receipt of one decision. Raises ``NoReceipt``, ``BadKey``, ``OSError``."""
    rows = with_rows(Approval.objects.filter(pk=approval.pk))
    (found,) = recorded(approval.workspace_id, rows)
    if isinstance(found, tuple):
        raise NoReceipt(found[1])
    return receipt.sign(statement_of(found, with_arguments=with_arguments), own_keys.signer())


def issue_all(workspace_id: UUID, approvals: QuerySet[Approval], signer: Signer) -> Iterator[tuple[UUID, str]]:
    """Receipts of those that have one, by approval, in the order of their ids."""
    ids = approvals.order_by("pk").values_list("pk", flat=True).iterator(PAGE)
    while page := list(islice(ids, PAGE)):
        for found in recorded(workspace_id, with_rows(Approval.objects.filter(pk__in=page)).order_by("pk")):
            if not isinstance(found, tuple):
                yield found.approval.pk, receipt.sign(statement_of(found), signer)
