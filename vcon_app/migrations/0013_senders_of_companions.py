from django.db import migrations, models


class Migration(migrations.Migration):
    """Who brought a companion; of those that are here already nobody knows."""

    dependencies = [("vcon_app", "0012_texts_of_files")]

    operations = [
        migrations.AddField("companion", "requester", models.TextField(null=True)),
        migrations.RemoveConstraint("companion", "companion_once"),
        migrations.AddConstraint(
            "companion",
            models.UniqueConstraint(
                fields=["workspace", "source_format", "tail", "parent", "kind", "requester"],
                name="companion_of_sender",
            ),
        ),
    ]
