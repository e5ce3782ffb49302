from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    """Who is named in a comment is told in the browsers that they subscribed, unless they choose otherwise."""

    dependencies = [("sessions_app", "0057_days_that_sessions_are_kept")]

    operations = [
        migrations.AddField("noticechoice", "push_mentions", models.BooleanField(default=True, db_default=True)),
        migrations.AddField("mention", "push_to", ArrayField(models.UUIDField(), default=list, db_default=[])),
        migrations.AddField("mention", "push_at", models.DateTimeField(null=True)),
        migrations.AddField("mention", "push_tries", models.PositiveSmallIntegerField(default=0, db_default=0)),
        migrations.AddIndex(
            "mention",
            models.Index(fields=["push_at"], condition=~models.Q(push_at=None), name="mention_to_push"),
        ),
    ]
