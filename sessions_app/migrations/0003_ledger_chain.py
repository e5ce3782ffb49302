from django.db import migrations, models

from ._chain_ledger_0003 import chain_ledger, unchain_ledger


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0002_event_links"),
    ]

    operations = [
        migrations.AddField(
            model_name="ledgerentry",
            name="hash",
            field=models.CharField(default="", max_length=64),
        ),
        migrations.AddField(
            model_name="ledgerentry",
            name="seq",
            field=models.BigIntegerField(null=True),
        ),
        migrations.RunPython(chain_ledger, unchain_ledger),
        migrations.AddConstraint(
            model_name="ledgerentry",
            constraint=models.UniqueConstraint(fields=("wallet", "seq"), name="ledger_in_order"),
        ),
    ]
