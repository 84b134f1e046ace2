"""Labelling projects and the guidelines of a collection: what its admins decide about labelling."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Collection
from workbench.errors import NotAllowed, WorkbenchError
from workbench.infra.diffs import DiffLine, line_diff

from .models import GuidelineVersion, Project


@dataclass(frozen=True, slots=True)
class GuidelineChange:
    """A version of the guidelines; ``lines`` are all of both versions, marked as same, added or removed. Of the first
    version every line is added."""

    version: GuidelineVersion
    lines: tuple[DiffLine, ...]


def project_create(*, actor: User, project: Project) -> Project:
    """A new project of a collection (unsaved ``project`` with collection, name and shares).

    Raises :class:`NotAllowed` for those who do not manage the collection, :class:`WorkbenchError` when the name is
    taken.
    """
    require_manage(actor=actor, collection=project.collection)
    with transaction.atomic():
        if Project.objects.filter(collection=project.collection, name=project.name).exists():
            raise WorkbenchError(_("There is a project of this name already."), code="name_taken")
        project.created_by = actor
        project.save(force_insert=True)
        audit_record(
            actor=actor,
            action=Action.LABELING_PROJECT_CREATED,
            obj=project,
            after={
                "name": project.name,
                "random_share": project.random_share,
                "gold_share": project.gold_share,
                "double_share": project.double_share,
                "keep_waiting": project.keep_waiting,
            },
        )
    return project


def project_supply(*, actor: User, project: Project, keep_waiting: int) -> None:
    """How many pairs are to wait for annotators; beat adds what is missing from finished runs. 0 turns that off."""
    require_manage(actor=actor, collection=project.collection)
    with transaction.atomic():
        locked = Project.objects.select_for_update().get(pk=project.pk)
        before, locked.keep_waiting = locked.keep_waiting, keep_waiting
        if before == keep_waiting:
            return
        locked.save(update_fields=["keep_waiting"])
        audit_record(
            actor=actor,
            action=Action.LABELING_SUPPLY_CHANGED,
            obj=project,
            before={"keep_waiting": before},
            after={"keep_waiting": keep_waiting},
        )


def project_close(*, actor: User, project: Project, is_open: bool) -> None:
    """Closes a project for labelling, or opens it again; its labels stay."""
    require_manage(actor=actor, collection=project.collection)
    with transaction.atomic():
        if Project.objects.filter(pk=project.pk, is_open=not is_open).update(is_open=is_open):
            audit_record(
                actor=actor,
                action=Action.LABELING_PROJECT_OPENED if is_open else Action.LABELING_PROJECT_CLOSED,
                obj=project,
            )


def guideline_write(*, actor: User, project: Project, body: str) -> GuidelineVersion:
    """A new version of the collection's guidelines; the same words again change nothing."""
    require_manage(actor=actor, collection=project.collection)
    body = body.strip()
    if not body:
        raise WorkbenchError(_("Write the guidelines first."), code="empty")
    with transaction.atomic():
        # One writer at a time, so that numbers follow one another.
        Project.objects.select_for_update().filter(collection_id=project.collection_id).first()
        newest = GuidelineVersion.objects.filter(collection_id=project.collection_id).first()
        if newest is not None and newest.body == body:
            return newest
        version = GuidelineVersion.objects.create(
            collection_id=project.collection_id,
            number=newest.number + 1 if newest else 1,
            body=body,
            written_by=actor,
        )
        audit_record(
            actor=actor,
            action=Action.LABELING_GUIDELINES_WRITTEN,
            obj=version,
            after={"number": version.number, "sha256": hashlib.sha256(body.encode()).hexdigest()},
        )
    return version


def guideline_history(*, collection: Collection) -> list[GuidelineChange]:
    """Every version, the newest first, with what changed since the one before it. One query."""
    versions = list(
        GuidelineVersion.objects.filter(collection=collection)
        .select_related("written_by")
        .order_by("-number")
    )
    before = [version.body.splitlines() for version in versions[1:]]
    return [
        GuidelineChange(version, tuple(line_diff(old, version.body.splitlines())))
        for version, old in zip(versions, [*before, []], strict=False)
    ]


def require_manage(*, actor: User, collection: Collection) -> None:
    """Raises :class:`NotAllowed` for those who do not manage the collection."""
    if not has_permission(actor, collection, Permission.MANAGE):
        raise NotAllowed(_("Only admins of this collection may do that."))
