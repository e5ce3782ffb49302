"""Policies of a workspace in use: versions, the gate that judges calls by them, grants, previews."""
