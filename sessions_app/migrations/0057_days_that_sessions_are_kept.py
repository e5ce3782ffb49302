from django.db import migrations, models


class Migration(migrations.Migration):
    """How long a workspace keeps its sessions: for good, unless an admin says days."""

    dependencies = [("sessions_app", "0056_retention_of_workspaces")]

    operations = [
        migrations.AddField("workspace", "keep_days", models.PositiveIntegerField(null=True)),
        migrations.AddField("workspace", "deletes_from", models.DateTimeField(null=True)),
    ]
