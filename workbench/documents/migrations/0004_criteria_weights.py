from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [("documents", "0003_version_offer")]

    # Thresholds have a table of their own; this column was never filled.
    operations = [migrations.RenameField("collection", "gates", "criteria_weights")]
