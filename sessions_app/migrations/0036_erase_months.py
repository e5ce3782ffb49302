from django.db import migrations

from ._erasure_0036 import BACKWARD, FORWARD


class Migration(migrations.Migration):
    """Erasure of whole months: the part of their events is dropped."""

    dependencies = [("sessions_app", "0035_indexes_of_oversight")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
