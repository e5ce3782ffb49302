from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0021_push_and_pauses"),
    ]

    operations = [
        migrations.AddField(
            model_name="vote",
            name="grant_wish",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="grant",
            name="made_of",
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name="escalationstep",
            name="taken_by",
            field=models.TextField(db_default="", default=""),
        ),
        migrations.AddField(
            model_name="escalationstep",
            name="reason",
            field=models.TextField(db_default="", default=""),
        ),
    ]
