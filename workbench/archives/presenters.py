"""What the pages of archives show."""

from __future__ import annotations

from typing import Any

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from workbench.accounts.models import User
from workbench.collection_settings.presenters import settings_step
from workbench.documents.models import Collection
from workbench.infra.crumbs import crumbs

from .forms import ArchiveForm, TakeInForm
from .models import AT_WORK, Direction, Transfer, TransferState
from .progress import percent_done
from .selectors import transfers_of, transfers_sent
from .transfers import KEPT_FOR

#: The states of partials/_state.html.
_STATES = {
    TransferState.CHECKED: "waiting",
    TransferState.READY: "ready",
    TransferState.TAKEN_IN: "done",
    TransferState.FAILED: "failed",
    TransferState.REMOVED: "cancelled",
}


def collection_page(*, collection: Collection, user: User, error: str = "") -> dict[str, Any]:
    """The archives of a collection, and what a new one would hold."""
    sizes = list(collection.documents.readable().values_list("size", flat=True))
    return {
        "collection": collection,
        "error": error,
        "documents": len(sizes),
        "size": filesizeformat(sum(sizes)),
        "kept": _kept(),
        "rows": [_row(transfer) for transfer in transfers_of(user=user, collection=collection)],
        "crumbs": crumbs(
            (_("Collections"), reverse("documents:collections")),
            collection,
            settings_step(collection),
            here=_("Archive"),
        ),
    }


def sent_page(*, user: User, form: ArchiveForm) -> dict[str, Any]:
    """The archives that a person sent, and the form for another one."""
    return {
        "form": form,
        "kept": _kept(),
        "rows": [_row(transfer) for transfer in transfers_sent(user=user)],
        "crumbs": crumbs((_("Collections"), reverse("documents:collections")), here=_("Import an archive")),
    }


def archive_page(*, transfer: Transfer, form: TakeInForm | None = None) -> dict[str, Any]:
    """One archive: how far it is, what it holds, what can be done with it."""
    leaves = transfer.direction == Direction.OUT
    figures = transfer.figures or {}
    above = (
        reverse("archives:collection", kwargs={"slug": transfer.collection.slug})
        if leaves and transfer.collection
        else reverse("archives:sent")
    )
    return {
        "transfer": transfer,
        "leaves": leaves,
        "state": transfer.state,
        "is_at_work": transfer.state in AT_WORK,
        "progress": _progress(transfer),
        "figures": _figures(figures) if figures else [],
        "remarks": figures.get("remarks", []),
        "archive_sha256": figures.get("sha256", ""),
        "size": filesizeformat(transfer.size),
        "form": form or TakeInForm(initial={"slug": transfer.slug}),
        "kept": _kept(),
        "crumbs": crumbs(
            (_("Collections"), reverse("documents:collections")),
            (_("Archive") if leaves else _("Import an archive"), above),
            here=transfer.file_name,
        ),
    }


def _row(transfer: Transfer) -> dict[str, Any]:
    state = TransferState(transfer.state)
    return {
        "transfer": transfer,
        "url": transfer.get_absolute_url(),
        "state": _STATES.get(state, "running" if transfer.lease_owner else "queued"),
        # What the state's own word does not tell.
        "says": state.label if state in {*AT_WORK, TransferState.CHECKED} else "",
        "size": filesizeformat(transfer.size) if transfer.size else "",
    }


def _figures(figures: dict[str, Any]) -> list[tuple[str, str]]:
    documents = ngettext("%(n)d document", "%(n)d documents", figures["documents"]) % {
        "n": figures["documents"]
    }
    return [
        (_("Collection"), str(figures["name"])),
        (_("Documents"), f"{documents}, {filesizeformat(figures['bytes'])}"),
        (_("Vocabulary"), _entries(figures["dictionary_entries"])),
        (_("Question sets"), str(figures["question_sets"])),
        (_("Labels"), str(figures["labels"])),
    ]


def _entries(number: int) -> str:
    return ngettext("%(n)d entry", "%(n)d entries", number) % {"n": number}


def _kept() -> str:
    days = KEPT_FOR.days
    return ngettext("The file is kept for %(n)d day.", "The file is kept for %(n)d days.", days) % {"n": days}


def _progress(transfer: Transfer) -> dict[str, Any]:
    state = TransferState(transfer.state)
    ended = timezone.now() if state in AT_WORK else transfer.changed_at
    share = percent_done(transfer.pk) if state in AT_WORK else None
    detail = f"{share} %" if share is not None else ""
    return {
        "dom_id": "archive-progress",
        "title": str(transfer),
        "state": _STATES.get(state, "running" if transfer.lease_owner else "queued"),
        "elapsed_s": max(0.0, (ended - transfer.created_at).total_seconds()),
        "stages": [
            stage | {"detail": detail} if stage["state"] == "running" else stage
            for stage in _stages(transfer)
        ],
        "reason": transfer.failure if state == TransferState.FAILED else "",
    }


def _stages(transfer: Transfer) -> list[dict[str, str]]:
    steps = (
        [(_("Originals and tables are written"), TransferState.WRITING)]
        if transfer.direction == Direction.OUT
        else [
            (_("Every byte is checked against its hash"), TransferState.CHECKING),
            (_("The collection is created"), TransferState.TAKING_IN),
        ]
    )
    places = [state for _label, state in steps]
    if transfer.state == TransferState.FAILED:
        # An archive has a short name as soon as it was found whole.
        at = len(places) - 1 if transfer.slug or transfer.direction == Direction.OUT else 0
        now = "failed"
    else:
        at = places.index(TransferState(transfer.state)) if transfer.state in places else len(places)
        now = "running"
    return [
        {"label": label, "state": "done" if place < at else now if place == at else "waiting"}
        for place, (label, _state) in enumerate(steps)
    ]
