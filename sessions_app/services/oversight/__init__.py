"""Oversight that is real: test calls that admins place among the real ones."""
