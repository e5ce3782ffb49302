from django.db import migrations, models

from ._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    """A file that takes its worker down with it each time is given up, and told of."""

    atomic = False
    dependencies = [("sessions_app", "0061_calls_and_audit_narrowed")]

    operations = [
        migrations.AddField("filetext", "tries", models.PositiveSmallIntegerField(default=0, db_default=0)),
        AddIndexConcurrently(
            model_name="filetext",
            index=models.Index(
                fields=["session"], condition=models.Q(due_at=None, tries__gt=0), name="file_text_given_up"
            ),
        ),
    ]
