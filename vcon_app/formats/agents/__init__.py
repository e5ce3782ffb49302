"""Coding agents whose files are read here, one module each; ``registry`` finds them as it finds the formats beside."""
