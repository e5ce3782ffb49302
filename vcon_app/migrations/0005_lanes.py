from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("vcon_app", "0004_file_removals"),
    ]

    operations = [
        migrations.AddField(
            model_name="export",
            name="big",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="export",
            name="requester",
            field=models.TextField(db_default="", default=""),
        ),
        migrations.AddField(
            model_name="import",
            name="big",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="import",
            name="requester",
            field=models.TextField(db_default="", default=""),
        ),
    ]
