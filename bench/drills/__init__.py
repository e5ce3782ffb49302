"""Breaks a running installation on purpose, and looks whether it goes on: ``python -m bench.drills``."""
