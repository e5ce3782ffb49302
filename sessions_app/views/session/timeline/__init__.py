"""What the session page shows of a window of events: rows, runs of rows that fold, and turns around them."""

from .layout import Group, Section, sections
from .row_kinds import Row

__all__ = ["Group", "Row", "Section", "sections"]
