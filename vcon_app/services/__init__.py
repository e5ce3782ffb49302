"""Writes of imports and exports, in rooms that depend in this order: documents, trust, redaction, exports.

``imports`` needs the first two. A test of the architecture holds them to it.
"""
