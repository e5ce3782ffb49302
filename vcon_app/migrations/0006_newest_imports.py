import django.db.models.deletion
from django.db import migrations, models

from sessions_app.migrations._concurrently import AddIndexConcurrently, RemoveIndexConcurrently


class Migration(migrations.Migration):
    """Imports in the order in which they are listed."""

    atomic = False

    dependencies = [
        ("vcon_app", "0005_lanes"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="import",
            index=models.Index(fields=["workspace", "-id"], name="import_newest"),
        ),
        RemoveIndexConcurrently(
            model_name="import",
            name="import_recent",
        ),
        migrations.AlterField(
            model_name="import",
            name="workspace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="imports",
                to="sessions_app.workspace",
            ),
        ),
    ]
