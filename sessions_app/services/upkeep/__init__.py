"""Upkeep of an installation: what its hosts have in common, a disk that is full, and what goes away by itself."""
