"""The exception by which a setting or a place is refused."""


class ConfigError(Exception):
    """A setting, a directory or a port that Countersign cannot start with; the message is one line."""
