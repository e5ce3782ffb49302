from django.db import migrations, models


class Migration(migrations.Migration):
    """A file that takes its worker down with it each time is given up, and told of.

    The index is of rows that no installation has yet, so it is made in the moment in which the table has its column, and
    in one transaction with it: what is cut off begins again.
    """

    dependencies = [("sessions_app", "0062_sessions_of_agents")]

    operations = [
        migrations.AddField("filetext", "tries", models.PositiveSmallIntegerField(default=0, db_default=0)),
        migrations.AddIndex(
            model_name="filetext",
            index=models.Index(
                fields=["session"], condition=models.Q(due_at=None, tries__gt=0), name="file_text_given_up"
            ),
        ),
    ]
