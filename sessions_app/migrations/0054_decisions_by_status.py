from django.db import migrations, models

from ._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    """Decisions by their status, the newest first: a rare one is found without reading those of the others."""

    atomic = False
    dependencies = [("sessions_app", "0053_graph_of_events")]

    operations = [
        AddIndexConcurrently(
            model_name="graphnode",
            index=models.Index(
                condition=models.Q(("kind", "decision")),
                fields=["workspace", "status", "-id"],
                name="graph_node_of_status",
            ),
        ),
    ]
