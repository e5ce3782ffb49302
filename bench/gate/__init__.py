"""Figures of the gate: races for a decision, how soon it is known, what it costs. Each module is a command."""
