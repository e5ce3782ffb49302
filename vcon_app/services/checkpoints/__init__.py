"""Checkpoints: how far every chain has grown, signed, kept outside of the database, and checked."""
