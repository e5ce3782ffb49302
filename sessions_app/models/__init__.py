from .agents import Agent, AgentVersion
from .append_only import APPEND_ONLY
from .approvals import Approval, Vote
from .audit import AuditEntry
from .checkpoints import Checkpoint, CheckpointHead, CheckpointPublication
from .erasure import Tombstone
from .events import Event, EventText, ModelRequest, ToolCall
from .idempotency import IdempotentAnswer
from .installation import Installation
from .links import EventLink, UnsealedHead
from .money import Budget, LedgerEntry, Wallet
from .secrets import Secret
from .sessions import Session
from .sign_in import Invitation, PasswordOrigin, SignInAttempts, SignInLink
from .slack import SlackEvent, SlackInstallation, SlackNotice, SlackReply
from .triggers import Schedule, SignedRequest, TriggerRun, WebhookDelivery, WebhookEndpoint
from .turns import QueuedMessage, Requeue, Turn, TurnInFlight
from .usage import CallUsage, TurnUsage
from .workspaces import ApiKey, Member, Role, Workspace

__all__ = [
    "APPEND_ONLY",
    "Agent",
    "AgentVersion",
    "ApiKey",
    "Approval",
    "AuditEntry",
    "Budget",
    "CallUsage",
    "Checkpoint",
    "CheckpointHead",
    "CheckpointPublication",
    "Event",
    "EventLink",
    "EventText",
    "IdempotentAnswer",
    "Installation",
    "Invitation",
    "LedgerEntry",
    "Member",
    "ModelRequest",
    "PasswordOrigin",
    "QueuedMessage",
    "Requeue",
    "Role",
    "Schedule",
    "Secret",
    "Session",
    "SignInAttempts",
    "SignInLink",
    "SignedRequest",
    "SlackEvent",
    "SlackInstallation",
    "SlackNotice",
    "SlackReply",
    "Tombstone",
    "ToolCall",
    "TriggerRun",
    "Turn",
    "TurnInFlight",
    "TurnUsage",
    "UnsealedHead",
    "Vote",
    "Wallet",
    "WebhookDelivery",
    "WebhookEndpoint",
    "Workspace",
]
