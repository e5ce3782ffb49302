"""SQL of erasure since what is posted to others names its approval: a message's own id says how that stood, too."""

from __future__ import annotations

from . import _erasure_0012

REPLACE = _erasure_0012.FORWARD
BACKWARD = REPLACE
FORWARD = REPLACE.replace("o.subject_id = a.id", "o.approval_id = a.id")
