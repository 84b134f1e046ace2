"""What the pages of sources show."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from workbench.collection_settings.presenters import settings_step
from workbench.documents.models import Collection
from workbench.infra.crumbs import crumbs

from .forms import SourceForm
from .kinds import kinds
from .models import FileState, Source, SourceState
from .selectors import files_shown, sources_of

_STATES = {
    FileState.WAITING: "waiting",
    FileState.AGAIN: "waiting",
    FileState.FAILED: "failed",
    FileState.TAKEN: "done",
}


def sources_page(*, collection: Collection, form: SourceForm | None = None) -> dict[str, Any]:
    """A collection's sources, and a form for each kind; ``form`` is one that was sent and has errors."""
    known = kinds()
    sent = form.kind.name if form else ""
    return {
        "collection": collection,
        "sources": [
            {"source": source, "kind": known[source.kind].label if source.kind in known else source.kind}
            for source in sources_of(collection=collection)
        ],
        "forms": [
            {
                "kind": kind,
                "form": form if kind.name == sent else SourceForm(kind),
                "is_open": kind.name == sent,
            }
            for kind in known.values()
        ],
        "crumbs": crumbs(collection, settings_step(collection), here=_("Sources")),
    }


def source_page(*, source: Source) -> dict[str, Any]:
    """One source with what came in last."""
    kind = kinds().get(source.kind)
    return {
        "collection": source.collection,
        "source": source,
        "error": _said(source.error),
        "kind": kind.label if kind else source.kind,
        "settings": [
            {"label": setting.label, "value": source.settings.get(setting.name, "")}
            for setting in (kind.settings if kind else ())
        ],
        "is_active": source.state == SourceState.ACTIVE,
        "files": [
            {
                "file": file,
                "state": _STATES[FileState(file.state)],
                "may_retry": file.state == FileState.FAILED,
                "error": _said(file.error),
            }
            for file in files_shown(source=source)
        ],
        "crumbs": crumbs(
            source.collection,
            settings_step(source.collection),
            (_("Sources"), reverse("sources:sources", args=[source.collection.slug])),
            here=str(source),
        ),
    }


def _said(error: str) -> str:
    """What a worker wrote down in its language, in the reader's; with a figure or a name in it, as it is."""
    return _(error) if error else ""
