"""Sessions that an agent keeps in a SQLite store, many in one file; ``registry`` finds them as those of ``agents``."""
