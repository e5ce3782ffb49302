from django.db import migrations

from ._whole_days_0065 import BACKWARD, FORWARD


class Migration(migrations.Migration):
    """Usage of a day is kept without its origins, too: most pages ask for all of them."""

    dependencies = [("sessions_app", "0064_vectors_of_state")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
