from .agents import Agent, AgentVersion
from .approvals import Approval, Vote
from .audit import AuditEntry, IdempotentAnswer
from .events import Event, EventText, ModelRequest, ToolCall
from .ledger import Budget, CallUsage, LedgerEntry, TurnUsage, Wallet
from .secrets import Secret
from .sessions import Session, Turn
from .slack import SlackEvent, SlackNotice, SlackReply
from .triggers import Schedule, SlackInstallation, TriggerRun, WebhookDelivery, WebhookEndpoint
from .turns import QueuedMessage, TurnInFlight
from .workspaces import ApiKey, Member, Role, SignInLink, Workspace

__all__ = [
    "Agent",
    "AgentVersion",
    "ApiKey",
    "Approval",
    "AuditEntry",
    "Budget",
    "CallUsage",
    "Event",
    "EventText",
    "IdempotentAnswer",
    "LedgerEntry",
    "Member",
    "ModelRequest",
    "QueuedMessage",
    "Role",
    "Schedule",
    "Secret",
    "Session",
    "SignInLink",
    "SlackEvent",
    "SlackInstallation",
    "SlackNotice",
    "SlackReply",
    "ToolCall",
    "TriggerRun",
    "Turn",
    "TurnInFlight",
    "TurnUsage",
    "Vote",
    "Wallet",
    "WebhookDelivery",
    "WebhookEndpoint",
    "Workspace",
]
