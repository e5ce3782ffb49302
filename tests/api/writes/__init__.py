"""Writes that come again, or at the same moment."""
