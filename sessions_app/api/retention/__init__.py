"""Retention over the API: policies of sessions, what is out of sight, pruning."""
