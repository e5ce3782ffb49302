from .agents import Agent
from .approvals import Approval, Vote
from .audit import AuditEntry, IdempotentAnswer
from .events import Event, EventText, ModelRequest, ToolCall
from .sessions import Session, Turn
from .workspaces import ApiKey, Member, Role, SignInLink, Workspace

__all__ = [
    "Agent",
    "ApiKey",
    "Approval",
    "AuditEntry",
    "Event",
    "EventText",
    "IdempotentAnswer",
    "Member",
    "ModelRequest",
    "Role",
    "Session",
    "SignInLink",
    "ToolCall",
    "Turn",
    "Vote",
    "Workspace",
]
