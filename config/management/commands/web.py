"""``manage.py web`` for ``help``: ``manage.py`` itself goes to the supervisor without loading Django."""

from config.management.part_command import PartCommand


class Command(PartCommand):
    kind = "web"
