"""What the agreement page shows: tables, and heat maps of the same figures."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from training.agreement import Agreement
from workbench.accounts.models import User
from workbench.documents.collection_choice import collection_choice
from workbench.infra.dates import month_in_words
from workbench.infra.plots import HeatMap, heat_map
from workbench.runs.models import RoleChoice

from .agreement import CollectionAgreement, ModelAgreement, collection_agreement
from .presenters import OVERSEERS, tabs

#: From this many people on the heat map says more than the table.
_MOST_PEOPLE = 24


def agreement_page(*, user: User, query: QueryDict) -> dict[str, Any]:
    """The figures of the collection that the address names, else of the first one the user oversees."""
    chosen, filters = collection_choice(
        user=user, permissions=OVERSEERS, query=query, url=reverse("labeling:agreement")
    )
    context: dict[str, Any] = {
        "collection": chosen,
        "tabs": tabs(user=user, active="agreement"),
        "tabs_label": _("Labelling"),
        "filters": filters,
    }
    if chosen is None:
        return context
    figures = collection_agreement(collection=chosen)
    return context | {
        "people": figures.people,
        "pairs": _pairs(figures),
        "people_map": _people_map(figures.people, figures.names),
        "models": [_model(row) for row in figures.models],
    }


def _pairs(figures: CollectionAgreement) -> list[dict[str, Any]]:
    return [
        {
            "first": figures.names[pair.first],
            "second": figures.names[pair.second],
            "percent": pair.percent,
            "kappa": pair.kappa,
        }
        for pair in figures.people.pairs
    ]


def _people_map(people: Agreement, names: dict[str, str]) -> HeatMap | None:
    judges = sorted({judge for pair in people.pairs for judge in (pair.first, pair.second)})
    if len(judges) < 2 or len(judges) > _MOST_PEOPLE:
        return None
    kappa = {frozenset((pair.first, pair.second)): pair.kappa.value for pair in people.pairs}
    cells = [[kappa.get(frozenset((one, other))) for other in judges] for one in judges]
    labels = [names[judge] for judge in judges]
    return heat_map(title=_("Cohen's kappa of each two people"), rows=labels, columns=labels, cells=cells)


def _model(row: ModelAgreement) -> dict[str, Any]:
    roles = [str(role.label) for role in RoleChoice]
    counts = [[float(count) for count in line] for line in row.confusion]
    return {
        "figures": row,
        "map": heat_map(
            title=_("What people said (rows) and %(model)s said (columns)") % {"model": row.model},
            rows=roles,
            columns=roles,
            cells=counts,
            top=max((max(line) for line in counts), default=1.0) or 1.0,
            digits=0,
        ),
        "slices": [
            (_("By role, as people see it"), [(RoleChoice(part.name).label, part) for part in row.by_role]),
            (_("By type of document"), [(part.name, part) for part in row.by_type]),
            (_("By month"), [(month_in_words(part.name), part) for part in row.by_month]),
        ],
    }
