"""Shared reading of traces of model requests, whoever recorded them: messages, a tree, repeated histories."""
