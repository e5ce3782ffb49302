"""Retention: policies of sessions set, applied and held; what goes out of sight stays in the log."""
