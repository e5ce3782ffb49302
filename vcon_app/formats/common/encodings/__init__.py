"""Bytes that stand for those of a transcript: packed by Zstandard, or text in UTF-16."""
