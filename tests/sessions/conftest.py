"""The people of the desk, and an agent whose sessions are read."""

from tests.desk.conftest import admin, agent, charlie, elsewhere, reviewer, viewer, workspace

__all__ = ["admin", "agent", "charlie", "elsewhere", "reviewer", "viewer", "workspace"]
