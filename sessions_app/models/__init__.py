from .agents import Agent, AgentVersion
from .append_only import APPEND_ONLY
from .audit import AuditEntry
from .checkpoints import Checkpoint, CheckpointHead, CheckpointPublication
from .erasure import Tombstone
from .events import (
    ChangedFile,
    Event,
    EventText,
    FileChange,
    FileScan,
    FileText,
    ModelRequest,
    OwnerCheck,
    RunFinding,
    RunSummary,
    RunSummaryFillIn,
    SearchBacklog,
    SearchBlock,
    SessionOverview,
    ToolCall,
)
from .gate.approvals import Approval, Vote
from .gate.escalation import Absence, EscalationStep
from .gate.grants import Grant
from .gate.notices import Notice, NoticeChoice, OutgoingMessage, OutgoingWebhook, PushKey, PushSubscription
from .gate.policies import PolicyInForce, PolicyVersion
from .gate.review import CardView, SavedReason
from .gate.stops import Stop, StoppedSession
from .graph.nodes import GraphNode
from .idempotency import IdempotentAnswer
from .installation import Installation
from .links import EventLink, UnsealedHead
from .money import Budget, LedgerEntry, Wallet
from .retention.retention import HiddenSpan, Pruning, SessionRetention
from .reviews.comments import Comment, Mention
from .reviews.queues import ReviewQueue, SeenMark, TakenSession
from .reviews.verdicts import Rubric, Verdict
from .reviews.views import ListColumns, SavedView
from .secrets import Secret
from .session_measures import SessionMeasures
from .sessions import Session
from .sign_in import Invitation, PasswordOrigin, SignInAttempts, SignInLink
from .slack import SlackEvent, SlackInstallation, SlackNotice, SlackReply
from .state.values import StateValue
from .triggers import Schedule, SignedRequest, TriggerRun, WebhookDelivery, WebhookEndpoint
from .turns import LastTaken, QueuedMessage, QueuedTask, Requeue, Turn, TurnInFlight
from .usage import (
    AgentDay,
    AgentDayChange,
    CallUsage,
    SessionUsage,
    TurnUsage,
    UsageChange,
    UsageFillIn,
    UsageKind,
    UsageTotal,
)
from .workspaces import ApiKey, Member, Role, Workspace

__all__ = [
    "APPEND_ONLY",
    "Absence",
    "Agent",
    "AgentDay",
    "AgentDayChange",
    "AgentVersion",
    "ApiKey",
    "Approval",
    "AuditEntry",
    "Budget",
    "CallUsage",
    "CardView",
    "ChangedFile",
    "Checkpoint",
    "CheckpointHead",
    "CheckpointPublication",
    "Comment",
    "EscalationStep",
    "Event",
    "EventLink",
    "EventText",
    "FileChange",
    "FileScan",
    "FileText",
    "Grant",
    "GraphNode",
    "HiddenSpan",
    "IdempotentAnswer",
    "Installation",
    "Invitation",
    "LastTaken",
    "LedgerEntry",
    "ListColumns",
    "Member",
    "Mention",
    "ModelRequest",
    "Notice",
    "NoticeChoice",
    "OutgoingMessage",
    "OutgoingWebhook",
    "OwnerCheck",
    "PasswordOrigin",
    "PolicyInForce",
    "PolicyVersion",
    "Pruning",
    "PushKey",
    "PushSubscription",
    "QueuedMessage",
    "QueuedTask",
    "Requeue",
    "ReviewQueue",
    "Role",
    "Rubric",
    "RunFinding",
    "RunSummary",
    "RunSummaryFillIn",
    "SavedReason",
    "SavedView",
    "Schedule",
    "SearchBacklog",
    "SearchBlock",
    "Secret",
    "SeenMark",
    "Session",
    "SessionMeasures",
    "SessionOverview",
    "SessionRetention",
    "SessionUsage",
    "SignInAttempts",
    "SignInLink",
    "SignedRequest",
    "SlackEvent",
    "SlackInstallation",
    "SlackNotice",
    "SlackReply",
    "StateValue",
    "Stop",
    "StoppedSession",
    "TakenSession",
    "Tombstone",
    "ToolCall",
    "TriggerRun",
    "Turn",
    "TurnInFlight",
    "TurnUsage",
    "UnsealedHead",
    "UsageChange",
    "UsageFillIn",
    "UsageKind",
    "UsageTotal",
    "Verdict",
    "Vote",
    "Wallet",
    "WebhookDelivery",
    "WebhookEndpoint",
    "Workspace",
]
