"""Erasure: sessions and imports that somebody has deleted, with their files; a signed tombstone remains of each."""
