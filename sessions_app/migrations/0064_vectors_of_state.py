import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    """What programs keep may have a vector that a search compares, where the database has pgvector."""

    dependencies = [("sessions_app", "0063_tries_of_file_texts")]

    operations = [
        migrations.AddField(
            model_name="statevalue",
            name="vector",
            field=django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), null=True, size=None),
        ),
        migrations.AddField(
            model_name="statevalue", name="vector_model", field=models.TextField(db_default="", default="")
        ),
    ]
