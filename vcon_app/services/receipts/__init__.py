"""Receipts of decisions: what the record says of one, signed by the installation."""
