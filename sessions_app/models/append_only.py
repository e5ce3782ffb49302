"""The tables whose rows are never changed: what happened, what was said, what was paid, who did it.

Two guards hold each of them, and tests hold this list to both. A trigger refuses UPDATE, DELETE and TRUNCATE to
everybody (``sessions_app.migrations._append_only`` writes it into the migration that makes the table). And the role
that web server and workers connect as has SELECT and INSERT there, and nothing else (``config.database.roles``).

Erasure, which a person may ask for, is therefore a function in the database that belongs to the owner (SECURITY
DEFINER, with a ``search_path`` of its own): ``countersign_erase_session``. It sets ``countersign.erase`` for itself and
deletes; the trigger lets that pass for the owner's rights alone. ``countersign_clear_event_month`` drops the part of a
month whose sessions are all erased.
"""

from __future__ import annotations

from .audit import AuditEntry
from .checkpoints import Checkpoint, CheckpointHead
from .erasure import Tombstone
from .events import Event
from .gate.approvals import Vote
from .gate.policies import PolicyVersion
from .links import EventLink
from .money import LedgerEntry

APPEND_ONLY = (AuditEntry, Checkpoint, CheckpointHead, Event, EventLink, LedgerEntry, PolicyVersion, Tombstone, Vote)
