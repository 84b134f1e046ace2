"""What the labeling pages show. Nothing of the machine's verdict is ever among it."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_anywhere, permissions_in
from workbench.checklists.models import QuestionSet
from workbench.documents.models import Collection
from workbench.documents.viewer import viewer
from workbench.infra.crumbs import crumbs
from workbench.runs.models import RoleChoice

from . import progress
from .adjudication import disputes, judgments_of
from .elusion import elusion_rates
from .forms import ElusionForm, FillForm, GuidelineForm, ImportForm, SupplyForm
from .models import TO_ADJUDICATE, Pair, PairState, Project, Slot, SlotState
from .projects import guideline_history
from .reading import pair_reading
from .work import guideline_current, slot_held

#: Who may see how the work of others goes.
OVERSEERS = (Permission.MANAGE, Permission.REVIEW, Permission.AUDIT)

#: The key of each role, the same on every page.
ROLE_KEYS = [{"role": role.value, "key": str(number)} for number, role in enumerate(RoleChoice, start=1)]

CORRECTED_BY = {
    "adjudicated": gettext_lazy("adjudicated"),
    "reviewer": gettext_lazy("a reviewer's decision"),
    "known": gettext_lazy("a known answer"),
}


def project_for(*, user: User, pk: int, permission: Permission = Permission.VIEW) -> Project:
    """The project, if the user may do this with it; else 404."""
    projects = Project.objects.visible_to(user, permission).select_related("collection")
    return get_object_or_404(projects, pk=pk)


def slot_for(*, user: User, pk: int) -> Slot:
    """A place of a pair in a collection where the user labels; else 404."""
    slots = Slot.objects.visible_to(user, Permission.LABEL)
    return get_object_or_404(slots.select_related("pair__project__collection"), pk=pk)


def projects_page(*, user: User, form: Any) -> dict[str, Any]:
    """Every project of the user's collections, with what is done and what waits."""
    rows = (
        Project.objects.visible_to(user)
        .select_related("collection")
        .annotate(
            total=Count("pairs"),
            settled=Count("pairs", filter=Q(pairs__state__in=[PairState.SETTLED, PairState.SET_ASIDE])),
        )
        .order_by("-is_open", "-id")
    )
    labels_in = set(Collection.objects.visible_to(user, Permission.LABEL).values_list("pk", flat=True))
    return {
        "projects": [
            {
                "project": project,
                "total": project.total,
                "settled": project.settled,
                "work_url": reverse("labeling:work", args=[project.pk])
                if project.is_open and project.collection_id in labels_in
                else "",
            }
            for project in rows
        ],
        "form": form,
        "tabs": tabs(user=user, active="projects"),
        "tabs_label": _("Labelling"),
    }


def tabs(*, user: User, active: str) -> list[dict[str, Any]]:
    """The pages of the labeling workbench that are for this person."""
    permissions = permissions_anywhere(user=user)
    waiting = disputes(user=user).count() if Permission.REVIEW in permissions else 0
    entries = [
        ("projects", _("Projects"), "labeling:projects", True),
        ("corrected", _("Where I was corrected"), "labeling:corrected", Permission.LABEL in permissions),
        (
            "adjudication",
            _("Adjudication (%(n)d)") % {"n": waiting} if waiting else _("Adjudication"),
            "labeling:adjudication",
            Permission.REVIEW in permissions,
        ),
        ("agreement", _("Agreement"), "labeling:agreement", bool(permissions & set(OVERSEERS))),
    ]
    return [
        {"label": label, "url": reverse(name), "active": key == active}
        for key, label, name, shown in entries
        if shown
    ]


def project_page(*, project: Project, user: User, **changes: Any) -> dict[str, Any]:
    """A project: where it stands, who did what, its guidelines, and for admins the ways to supply it."""
    held = permissions_in(user, project.collection)
    manages = Permission.MANAGE in held
    history = guideline_history(collection=project.collection)
    newest = history[0].version if history else None
    context: dict[str, Any] = {
        "project": project,
        "collection": project.collection,
        "stats": _project_stats(project),
        "people": progress.people_progress(project=project) if held & set(OVERSEERS) else None,
        "own": progress.own_progress(user=user, project=project) if Permission.LABEL in held else None,
        "may_label": Permission.LABEL in held and project.is_open,
        "may_manage": manages,
        "guideline": newest,
        "guideline_history": history,
        "elusion": elusion_rates(collection=project.collection) if held & set(OVERSEERS) else None,
        "crumbs": _crumbs(here=project.name),
    }
    if manages:
        sets = list(QuestionSet.objects.filter(collection=project.collection_id))
        context |= {
            "fill_form": FillForm(project=project, sets=sets),
            "supply_form": SupplyForm(initial={"keep_waiting": project.keep_waiting}),
            "elusion_form": ElusionForm(project=project, sets=sets, prefix="elusion"),
            "guideline_form": GuidelineForm(initial={"body": newest.body if newest else ""}),
            "import_form": ImportForm(),
        }
    return context | changes


def _project_stats(project: Project) -> list[dict[str, Any]]:
    counts = progress.pair_counts(project=project)
    waiting = counts["disputed"] + counts["unclear"]
    disputed = ngettext("%(n)d to adjudicate", "%(n)d to adjudicate", waiting) % {"n": waiting}
    return [
        {"value": counts["total"], "label": _("pairs")},
        {"value": counts["open"], "label": _("still to be labelled")},
        {
            "value": counts["settled"] + counts["set_aside"],
            "label": _("settled"),
            "hint": disputed if waiting else "",
        },
        {
            "value": counts["double"],
            "label": _("go to two people"),
            "hint": _("%(n)d of the holdout") % {"n": counts["holdout"]},
        },
        {"value": counts["known"], "label": _("with a known answer")},
    ]


def work_page(*, project: Project, user: User, page_num: int | None = None) -> dict[str, Any]:
    """The desk: the pair that is held, on one of its pages, or an empty desk."""
    slot = slot_held(actor=user, project=project)
    return {
        "project": project,
        "collection": project.collection,
        "guideline": guideline_current(collection_id=project.collection_id),
        "crumbs": _crumbs(project, here=_("Desk")),
    } | desk(project=project, user=user, slot=slot, page_num=page_num)


def desk(*, project: Project, user: User, slot: Slot | None, page_num: int | None = None) -> dict[str, Any]:
    """What changes from pair to pair."""
    own = progress.own_progress(user=user, project=project)
    context: dict[str, Any] = {
        "project": project,
        "slot": slot,
        "own": own,
        "may_undo": own.done > 0 or Pair.objects.filter(project=project, passes__person=user).exists(),
    }
    if slot is not None:
        address = reverse("labeling:work", args=[project.pk])
        context |= pair_context(slot.pair, user=user, address=address, page_num=page_num)
    return context


def pair_context(pair: Pair, *, user: User, address: str, page_num: int | None = None) -> dict[str, Any]:
    """Question and passage of a pair, as whoever judges it sees them; ``address`` is the page's own."""
    reading = pair_reading(pair, page_num=page_num)
    pages = range(pair.page_start, pair.page_end + 1)
    return {
        "pair": pair,
        "document": pair.document,
        "viewer": viewer(reading.view, user=user, address=address),
        "span": [
            {"number": page, "url": f"{address}?page={page}", "active": page == reading.view.page_num}
            for page in pages
            if len(pages) > 1
        ],
        "breadcrumb": reading.breadcrumb,
        "scope": pair,
        "page_url": _page_url(pair),
    }


def corrected_page(*, user: User) -> dict[str, Any]:
    return {
        "rows": [
            {"correction": row, "by": CORRECTED_BY[row.by], "page_url": _page_url(row.pair)}
            for row in progress.corrections(user=user)
        ],
        "judged": Slot.objects.visible_to(user, Permission.LABEL)
        .filter(person=user, state=SlotState.LABELLED)
        .count(),
        "tabs": tabs(user=user, active="corrected"),
        "tabs_label": _("Labelling"),
    }


def adjudication_page(*, user: User) -> dict[str, Any]:
    return {
        "pairs": disputes(user=user).select_related("document", "project")[:100],
        "tabs": tabs(user=user, active="adjudication"),
        "tabs_label": _("Labelling"),
    }


def pair_for_adjudication(*, user: User, pk: int) -> Pair:
    """A pair of a collection where the user reviews; else 404."""
    pairs = Pair.objects.visible_to(user, Permission.REVIEW)
    return get_object_or_404(pairs.select_related("document", "project", "collection"), pk=pk)


def dispute_page(
    *, pair: Pair, user: User, error: str = "", comment: str = "", page_num: int | None = None
) -> dict[str, Any]:
    """A disputed or unclear pair, the judgments without names, and the roles that nobody gave."""
    given = judgments_of(pair)
    said = [str(slot.role) for slot in given]
    decided = getattr(pair, "adjudication", None)
    address = reverse("labeling:dispute", args=[pair.pk])
    return pair_context(pair, user=user, address=address, page_num=page_num) | {
        "judgments": [choice for choice in ROLE_KEYS if choice["role"] in said],
        "roles": ROLE_KEYS,
        "others": [choice for choice in ROLE_KEYS if choice["role"] not in said],
        "remaining": disputes(user=user).count(),
        "decided": decided,
        "waits": pair.state in TO_ADJUDICATE,
        "is_unclear": pair.state == PairState.UNCLEAR,
        "is_set_aside": pair.state == PairState.SET_ASIDE,
        "is_own": any(slot.person_id == user.pk for slot in given),
        "guideline": guideline_current(collection_id=pair.collection_id),
        "error": error,
        "comment": comment,
        "crumbs": _crumbs((_("Adjudication"), reverse("labeling:adjudication")), here=_("Disputed pair")),
    }


def _page_url(pair: Pair) -> str:
    return f"{pair.document.get_absolute_url()}?page={pair.page_start}"


def _crumbs(*below: Project | tuple[str, str], here: str) -> list[dict[str, str]]:
    return crumbs((_("Labelling"), reverse("labeling:projects")), *below, here=here)
