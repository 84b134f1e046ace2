from django.db import migrations

from workbench.audit.hardening import FIX_FUNCTIONS, REVOKE_TEMPORARY


class Migration(migrations.Migration):
    # After every migration that makes functions; what comes later is covered after each migrate.
    dependencies = [
        ("audit", "0002_verification"),
        ("documents", "0006_hold_is_closed"),
        ("labeling", "0001_initial"),
        ("review", "0007_answers_can_be_erased"),
    ]

    operations = [
        migrations.RunSQL(FIX_FUNCTIONS, migrations.RunSQL.noop),
        migrations.RunSQL(REVOKE_TEMPORARY, migrations.RunSQL.noop),
    ]
