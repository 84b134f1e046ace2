from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

#: Until now every model was charged these; they are the price of the default model, in USD per million tokens.
DEFAULT_MODEL, PRICE = "gpt-5-mini", {"input": "0.25", "cached_input": "0.025", "output": "2"}


def keep_the_default_models_price(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """The one price that was known stays known."""
    apps.get_model("questions", "ModelPrice").objects.create(model=DEFAULT_MODEL, **PRICE)


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("questions", "0011_verdict_injection_words"),
    ]
    operations = [
        migrations.CreateModel(
            "ModelPrice",
            [
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("model", models.CharField(max_length=120, unique=True)),
                ("input", models.DecimalField(decimal_places=6, max_digits=12)),
                ("cached_input", models.DecimalField(decimal_places=6, max_digits=12)),
                ("output", models.DecimalField(decimal_places=6, max_digits=12)),
                (
                    "changed_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "changed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["model"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(input__gte=0, cached_input__gte=0, output__gte=0),
                        name="price_not_negative",
                    )
                ],
            },
        ),
        migrations.AddField("llmcall", "is_priced", models.BooleanField(db_default=True, default=True)),
        migrations.AddField(
            "run", "unpriced_call_count", models.PositiveIntegerField(db_default=0, default=0)
        ),
        AddConstraintNotValid(
            "llmcall",
            models.CheckConstraint(
                condition=models.Q(is_priced=True) | models.Q(cost=0), name="unknown_cost_is_no_amount"
            ),
        ),
        migrations.RunPython(keep_the_default_models_price, migrations.RunPython.noop),
    ]
