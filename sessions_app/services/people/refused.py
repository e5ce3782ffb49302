"""``Refused``, which several services of people raise."""


class Refused(ValueError):
    """A change to the members, links or passwords cannot be made; the message says why and what to do."""
