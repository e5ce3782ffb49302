"""The assistant of the desk: an agent that is built in, one a workspace."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0054_decisions_by_status")]

    operations = [
        migrations.AlterField(
            model_name="agent",
            name="runtime",
            field=models.CharField(
                choices=[
                    ("managed", "Managed"), ("local", "Local"), ("scripted", "Scripted"), ("external", "External"),
                    ("built_in", "built in"),
                ],
                default="external",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.UniqueConstraint(
                condition=models.Q(("runtime", "built_in")), fields=("workspace",), name="agent_built_in_once"
            ),
        ),
    ]  # fmt: skip
