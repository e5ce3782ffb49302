import django.db.models.deletion
from django.db import migrations, models

from ._measures_0023 import BACKWARD, FORWARD


class Migration(migrations.Migration):
    """What sessions are sorted by and that changes while they are at work, in a table of its own."""

    dependencies = [("sessions_app", "0022_grants_with_decisions")]

    operations = [
        migrations.CreateModel(
            name="SessionMeasures",
            fields=[
                (
                    "session",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="measures",
                        serialize=False,
                        to="sessions_app.session",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="sessions_app.workspace",
                    ),
                ),
                ("cost", models.DecimalField(decimal_places=10, max_digits=20)),
                ("tokens", models.BigIntegerField()),
                ("turns", models.IntegerField()),
                ("errors", models.IntegerField()),
                ("last_day", models.DateField(null=True)),
                ("is_bad", models.BooleanField()),
            ],
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
        migrations.AddIndex(
            model_name="sessionmeasures",
            index=models.Index(models.F("workspace"), models.F("cost"), models.F("session"), name="measures_by_cost"),
        ),
        migrations.AddIndex(
            model_name="sessionmeasures",
            index=models.Index(
                models.F("workspace"), models.F("tokens"), models.F("session"), name="measures_by_tokens"
            ),
        ),
        migrations.AddIndex(
            model_name="sessionmeasures",
            index=models.Index(models.F("workspace"), models.F("turns"), models.F("session"), name="measures_by_turns"),
        ),
        migrations.AddIndex(
            model_name="sessionmeasures",
            index=models.Index(
                models.F("workspace"), models.F("errors"), models.F("session"), name="measures_by_errors"
            ),
        ),
        migrations.AddIndex(
            model_name="sessionmeasures",
            index=models.Index(
                condition=models.Q(("is_bad", True)), fields=["workspace", "last_day"], name="measures_bad_days"
            ),
        ),
    ]
