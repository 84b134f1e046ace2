"""Prices of models. A model without a price has an unknown cost, never another model's."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from arbitration.adapters.endpoints import Price
from workbench.accounts.models import User
from workbench.accounts.permissions import require_administrator
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import WorkbenchError
from workbench.infra.storable import storable

from .models import LLMCall, ModelPrice

#: USD per million tokens; a slip of the hand is refused.
HIGHEST_PRICE = Decimal(100_000)
#: A model that runs on a machine of one's own costs nothing a call.
FREE = Price()


def price_of(*, model: str, is_local: bool) -> Price | None:
    """The price of a model; None if it has none."""
    if is_local:
        return FREE
    row = ModelPrice.objects.filter(model=model).first()
    return Price(float(row.input), float(row.cached_input), float(row.output)) if row else None


def prices_listed() -> QuerySet[ModelPrice]:
    return ModelPrice.objects.select_related("changed_by")


@dataclass(frozen=True, slots=True)
class Unpriced:
    """A model without a price, and how many calls of it the ledger holds."""

    model: str
    calls: int


def models_without_price() -> list[Unpriced]:
    """Models with calls of unknown cost that still have no price, most called first."""
    rows = (
        LLMCall.objects.filter(is_priced=False)
        .exclude(model__in=ModelPrice.objects.values("model"))
        .values("model")
        .order_by()
        .annotate(calls=Count("pk"))
    )
    return [Unpriced(row["model"], row["calls"]) for row in sorted(rows, key=lambda row: -row["calls"])]


def price_set(
    *, actor: User, model: str, fresh: Decimal, cached: Decimal, output: Decimal, reason: str
) -> ModelPrice:
    """Sets the price of a model from the next call on. Recorded costs are unchanged. ``fresh`` and ``cached`` apply to
    input tokens. An audited action of an administrator. Raises :class:`NotAllowed`, or :class:`WorkbenchError` for a
    missing name or a price out of range."""
    require_administrator(actor)
    model = storable(model).strip()
    if not model or len(model) > 120:
        raise WorkbenchError(_("Name the model as the endpoint does."), code="model_missing")
    new = {"input": fresh, "cached_input": cached, "output": output}
    if not all(0 <= amount <= HIGHEST_PRICE for amount in new.values()):
        raise WorkbenchError(
            _("A price lies between 0 and %(most)s USD per million tokens.") % {"most": HIGHEST_PRICE},
            code="bad_price",
        )
    with transaction.atomic():
        current = ModelPrice.objects.select_for_update().filter(model=model).first()
        before = {name: getattr(current, name) for name in new} if current else None
        if current is not None and before == new:
            return current
        row, _made = ModelPrice.objects.update_or_create(
            model=model, defaults=new | {"changed_by": actor, "changed_at": Now()}
        )
        audit_record(
            actor=actor,
            action=Action.LLM_PRICE_SET,
            obj=row,
            before=_said(before) if before else None,
            after={"model": model} | _said(new),
            reason=reason,
        )
    return ModelPrice.objects.select_related("changed_by").get(pk=row.pk)


def price_remove(*, actor: User, model: str, reason: str) -> None:
    """Removes a price. Later calls of the model have an unknown cost. Raises :class:`NotAllowed`, or
    :class:`WorkbenchError` for a model without a price."""
    require_administrator(actor)
    with transaction.atomic():
        row = ModelPrice.objects.select_for_update().filter(model=model).first()
        if row is None:
            raise WorkbenchError(_("This model has no price."), code="no_price")
        before = {"input": row.input, "cached_input": row.cached_input, "output": row.output}
        audit_record(
            actor=actor,
            action=Action.LLM_PRICE_REMOVED,
            obj=row,
            before={"model": model} | _said(before),
            reason=reason,
        )
        row.delete()


def _said(amounts: dict[str, Decimal]) -> dict[str, str]:
    return {name: f"{amount.normalize():f}" for name, amount in amounts.items()}
