from django.db import migrations, models


class Migration(migrations.Migration):
    """A share link may leave out what the session cost; those that are here already do not."""

    dependencies = [("vcon_app", "0013_senders_of_companions")]

    operations = [migrations.AddField("sharelink", "without_cost", models.BooleanField(default=False))]
