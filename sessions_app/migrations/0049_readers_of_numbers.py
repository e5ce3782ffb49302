import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    """Members who see numbers only, mails about mentions, and how wide somebody made the columns of a list."""

    dependencies = [
        ("sessions_app", "0048_more_room_for_turns"),
    ]

    operations = [
        migrations.AddField(
            model_name="invitation",
            name="numbers_only",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="listcolumns",
            name="widths",
            field=models.JSONField(db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name="member",
            name="numbers_only",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="mention",
            name="mail_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="mention",
            name="mail_tries",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="noticechoice",
            name="mentions",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name="listcolumns",
            name="names",
            field=django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None),
        ),
        migrations.AddIndex(
            model_name="mention",
            index=models.Index(
                condition=models.Q(("mail_at", None), _negated=True), fields=["mail_at"], name="mention_to_mail"
            ),
        ),
        migrations.AddConstraint(
            model_name="member",
            constraint=models.CheckConstraint(
                condition=models.Q(("numbers_only", False), ("role", "viewer"), _connector="OR"),
                name="numbers_only_is_a_viewer",
            ),
        ),
    ]
