"""vCon (draft-ietf-vcon-vcon-core) with agent sessions in it: reading every dialect met so far, writing one.

Read: unsigned, gzipped and signed (checked by ``verify``) vCons of 0.0.1 to 0.5.0. Written: the shape of
core-04 with the agent_session extension and a trace after draft-birkholz-verifiable-agent-conversations-00.

Drafts are cited by section: core is draft-ietf-vcon-vcon-core-04, agent_session draft-howe-vcon-agent-session-00,
VAC draft-birkholz-verifiable-agent-conversations-00. Rule ids of findings (R3 to R112) are numbers of our own; what
a rule says stands in the message. Dialects D1 to D5 are told apart in ``traces``, D6, D9 and D10 in ``core_only``,
D7 in ``mcp``.
"""

from sessions_app.phrases import gettext as _

from ...drafts import Option
from ..contract import Spec
from .file import detect, encrypt, sign, signs_with, unseal, uuid8, verify
from .reading import read
from .writing import same_record, write

NAME = "vcon"
SUB_AGENTS = Option(
    "children", _("With its sub-agents"), detail=_("What they did stands under the calls that started them.")
)
OPTIONS = (
    SUB_AGENTS,
    Option(
        "bodies",
        _("JSON bodies"),
        (
            ("json", _("as JSON values (core-03 and later)")),
            ("string", _("as text, for older readers (core-02 and before)")),
        ),
        _("Older readers, Conserver among them, take bodies as text alone."),
    ),
    Option(
        "verdicts",
        _("With the verdicts of reviewers"),
        detail=_("Decisions, verdicts, comments and notes, with the names of those who gave them: personal data."),
    ),
    Option(
        "findings",
        _("With the findings of the run"),
        detail=_("What the rules of this desk mark in it: errors that were left, files outside of the work, secrets."),
    ),
    Option(
        "faithful",
        _("Values as they came"),
        detail=_("What core-04 does not allow is written all the same: for tools that write such values themselves."),
    ),
)

SPEC = Spec(
    name=NAME,
    title="vCon",
    media_type="application/vcon",
    suffix=".vcon",
    options=OPTIONS,
    needs=frozenset({"long_values"}),
    same_record=same_record,
    new_uuid=uuid8,
)

__all__ = [
    "NAME", "OPTIONS", "SPEC", "SUB_AGENTS", "detect", "encrypt", "read", "sign", "signs_with", "unseal", "verify",
    "write",
]  # fmt: skip
