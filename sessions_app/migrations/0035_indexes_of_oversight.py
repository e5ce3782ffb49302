from django.db import migrations, models

from ._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    """Votes and questions by when they were made: the figures of a period read that period."""

    atomic = False
    dependencies = [("sessions_app", "0034_last_seen")]

    operations = [
        AddIndexConcurrently(
            model_name="approval",
            index=models.Index(fields=["workspace", "requested_at"], name="approval_asked"),
        ),
        AddIndexConcurrently(
            model_name="vote",
            index=models.Index(fields=["at"], name="vote_recent"),
        ),
    ]
