from django.conf import settings
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    """With which chance the draw took a card to be decided blind."""

    dependencies = [
        ('documents', '0016_line_marks'),
        ('labeling', '0003_supply_and_unclear'),
        ('questions', '0016_run_follows'),
        ('review', '0015_check_share_is_checked'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='label',
            name='blind_chance',
            field=models.FloatField(blank=True, null=True),
        ),
        AddConstraintNotValid(
            model_name='label',
            constraint=models.CheckConstraint(condition=models.Q(('blind_chance__isnull', True), models.Q(('blind', True), ('blind_chance__gt', 0), ('blind_chance__lte', 1)), _connector='OR'), name='drawn_label_is_blind'),
        ),
    ]
