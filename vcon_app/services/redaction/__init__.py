"""Redaction: drafts, rules, and the content of a redacted vCon. ``exports.redactions`` makes and releases its file."""
