"""Shared helpers of the formats: bytes to JSON, lines, times, findings, keys. No format stands in here."""
