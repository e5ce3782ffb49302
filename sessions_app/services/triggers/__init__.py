"""How sessions start without a person at the desk."""


class Refused(ValueError):
    """A field of a trigger is wrong; the message says what to do, ``field`` names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
