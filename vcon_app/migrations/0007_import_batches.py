from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0037_file_changes"),
        ("vcon_app", "0006_newest_imports"),
    ]

    operations = [
        migrations.AddField(
            model_name="import",
            name="batch_id",
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name="import",
            name="folder",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(
                condition=models.Q(("batch_id__isnull", False)),
                fields=["workspace", "batch_id", "-id"],
                name="import_batch",
            ),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(
                condition=models.Q(("status", "failed")), fields=["workspace", "-id"], name="import_failed"
            ),
        ),
    ]
