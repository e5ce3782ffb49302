"""``manage.py backup`` and ``restore``: database, documents, checkpoints and keys in a directory that checks itself."""
