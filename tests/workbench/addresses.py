"""The URL map of the product, each address filled with an object of the scene: for tests that ask every address.

The addresses come from the map itself, so that a new one is covered by being there. An address whose arguments cannot
be filled fails the test: say here what it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from django.urls import URLPattern, URLResolver, get_resolver

from tests.workbench.labeling.makers import any_pair, any_project, any_slot
from tests.workbench.rerankers.makers import any_model, any_training
from tests.workbench.review.signed import signed
from tests.workbench.scene import Scene
from workbench.accounts.models import User

if TYPE_CHECKING:
    from workbench.archives.models import Transfer
    from workbench.exports.models import Export, ReportLink
    from workbench.runs.models import Candidate
    from workbench.sources.models import Source, SourceFile
    from workbench.webhooks.models import Delivery, Webhook

#: Parts of the map that belong to other packages and hold nothing of a collection: one's own account, the admin site.
PACKAGES = ("accounts/", "backdoor/")
#: Opens the link that tests make.
LINK_TOKEN = "a-link-that-only-the-tests-know"
#: Objects that only their own address needs, made when it is asked.
MADE: dict[str, Callable[[Scene], object]] = {
    "directory:group-remove": lambda scene: a_group_role(scene),
    "api:collection-group-remove": lambda scene: a_group_role(scene),
    "api:signature-detail": lambda scene: signed(scene.run).pk,
    "review:view-delete": lambda scene: saved_view(scene),
    "review:bulk-checks": lambda scene: a_bulk_approval(scene),
    "api:maintenance-detail": lambda scene: a_job(scene),
    "api:saved-view-detail": lambda scene: saved_view(scene),
    "api:saved-view-remove": lambda scene: saved_view(scene),
    "api:audit-event-detail": lambda scene: an_event(scene),
    "api:comment-detail": lambda scene: a_comment(scene),
    "labeling:answer": lambda scene: any_slot(scene.document).pk,
    "labeling:pass": lambda scene: any_slot(scene.document).pk,
    "labeling:release": lambda scene: any_slot(scene.document).pk,
    "labeling:dispute": lambda scene: any_pair(scene.document).pk,
    **{
        f"labeling:{name}": lambda scene: any_project(scene.document).pk
        for name in ("project", "fill", "supply", "elusion", "guidelines", "import", "open", "work", "undo")
    },
    **{f"archives:{name}": lambda scene: an_archive_out(scene).pk for name in ("archive", "remove", "fetch")},
    "archives:take-in": lambda scene: an_archive_in(scene).pk,
    "exports:export": lambda scene: an_export(scene).pk,
    "exports:fetch": lambda scene: an_export(scene).files.get().pk,
    **{
        f"api:labeling-project-{name}": lambda scene: any_project(scene.document).pk
        for name in (
            *("detail", "fill", "supply", "elusion", "import", "open", "guidelines", "next", "undo"),
            "label-studio",
        )
    },
    **{
        f"api:labeling-desk-{name}": lambda scene: any_slot(scene.document).pk
        for name in ("detail", "answer", "pass-over", "release")
    },
    **{
        f"api:dispute-{name}": lambda scene: any_pair(scene.document).pk
        for name in ("detail", "adjudicate", "set-aside")
    },
    **{name: lambda scene: undecided(scene).pk for name in ("review:choose", "api:candidate-choose")},
    "api:export-detail": lambda scene: an_export(scene).pk,
    "exports:link-revoke": lambda scene: a_link(scene).pk,
    "exports:shared": lambda scene: a_link(scene).pk,
    **{f"api:report-link-{name}": lambda scene: a_link(scene).pk for name in ("detail", "revoke")},
    **{
        f"webhooks:{name}": lambda scene: a_webhook(scene).pk
        for name in ("webhook", "change", "secret", "switch", "test", "repeat-missed")
    },
    **{f"sources:{name}": lambda scene: a_source(scene).pk for name in ("source", "switch", "look")},
    "sources:retry": lambda scene: a_source_file(scene).pk,
    **{
        f"api:source-{name}": lambda scene: a_source(scene).pk
        for name in ("detail", "pause", "resume", "remove", "look")
    },
    **{f"api:source-file-{name}": lambda scene: a_source_file(scene).pk for name in ("detail", "retry")},
    "webhooks:repeat": lambda scene: a_delivery(scene).pk,
    **{
        f"api:webhook-{name}": lambda scene: a_webhook(scene).pk
        for name in ("detail", "change", "secret", "pause", "resume", "remove", "test", "repeat-missed")
    },
    **{f"api:webhook-delivery-{name}": lambda scene: a_delivery(scene).pk for name in ("detail", "repeat")},
    "api:export-file": lambda scene: an_export(scene).pk,
    "models:label": lambda scene: scene.run.reviews.filter(label__isnull=False).first().label.pk,
    "models:version": lambda scene: any_model().number,
    "models:roll-back": lambda scene: any_model().number,
    "models:shadow": lambda scene: any_model().number,
    **{
        f"api:model-{name}": lambda scene: any_model().number
        for name in ("detail", "labels", "roll-back", "shadow")
    },
    **{f"api:training-{name}": lambda scene: any_training().pk for name in ("detail", "cancel")},
    "models:training": lambda scene: any_training().pk,
    "models:progress": lambda scene: any_training().pk,
    "models:cancel": lambda scene: any_training().pk,
}


def undecided(scene: Scene) -> Candidate:
    """A candidate with a verdict that nobody has decided, so that a card of it can be blind."""
    candidates = scene.run.candidates.filter(verdict__role__isnull=False, reviews__isnull=True)
    return candidates.earliest("pk")


def a_group_role(scene: Scene) -> int:
    """A role of a group of the directory."""
    from workbench.directory.models import GroupRole

    known = {"collection": scene.document.collection, "group": "Readers", "role": "analyst"}
    return GroupRole.objects.get_or_create(**known, defaults={"created_by": _admin(scene)})[0].pk


def a_comment(scene: Scene) -> int:
    """Words on the run."""
    from workbench.review.comments import comment_add

    return comment_add(actor=scene.run.requested_by, run=scene.run, body="Look at this.").comment.pk


def a_job(scene: Scene) -> int:
    """Work on the installation that ended."""
    from workbench.operations.models import Job

    ended = {"state": "done", "finished_at": scene.run.created_at, "requested_by": _admin(scene)}
    return Job.objects.create(
        kind="trail", result={"ok": True, "events": 1, "unsealed": 0, "anchors": 0}, **ended
    ).pk


def an_event(scene: Scene) -> int:
    """Something on record of the collection."""
    from workbench.audit.models import AuditEvent

    return AuditEvent.objects.filter(collection_id=scene.document.collection_id).earliest("pk").pk


def an_export(scene: Scene) -> Export:
    """The run as a file, asked for by its asker."""
    from django.core.files.base import ContentFile
    from django.core.files.storage import default_storage

    from workbench.exports.models import Export, ExportFile

    asked = {"collection": scene.run.collection, "requested_by": scene.run.requested_by, "state": "ready"}
    export = Export.objects.create(run=scene.run, **asked)
    path = default_storage.save(f"exports/{export.pk}/run.html", ContentFile(b"record"))
    facts = {"name": "run.html", "content_type": "text/html", "size": 6, "sha256": "0" * 64}
    ExportFile.objects.create(export=export, path=path, **facts)
    return export


def a_link(scene: Scene) -> ReportLink:
    """A link to the report of another run than the scene's, which is signed for it; its token is ``LINK_TOKEN``."""
    import hashlib
    from datetime import timedelta

    from django.utils import timezone

    from workbench.exports.models import Export, ReportLink
    from workbench.runs.models import Run

    known = ReportLink.objects.first()
    if known is not None:
        return known
    others = Run.objects.filter(collection=scene.run.collection, status="done").exclude(pk=scene.run.pk)
    run = others.order_by("pk").last() or scene.run
    export = an_export(scene)
    Export.objects.filter(pk=export.pk).update(kind="link")
    return ReportLink.objects.create(
        collection=run.collection, run=run, signature=signed(run), export=export, reason="For the auditor.",
        token_hash=hashlib.sha256(LINK_TOKEN.encode()).hexdigest(), made_by=scene.run.reviews.earliest("pk").reviewer,
        expires_at=timezone.now() + timedelta(days=30),
    )  # fmt: skip


def an_archive_out(scene: Scene) -> Transfer:
    """The collection as an archive that an admin asked for, written and ready."""
    return _transfer(scene, "out", state="ready", collection=scene.document.collection)


def an_archive_in(scene: Scene) -> Transfer:
    """An archive that the collection's admin sent, found whole."""
    return _transfer(scene, "in", state="checked", slug="gamma")


def _admin(scene: Scene) -> User:
    """The one who has administered the collection for longest."""
    collection = scene.document.collection
    return User.objects.filter(memberships__collection=collection, memberships__role="admin").earliest("pk")


def _transfer(scene: Scene, direction: str, **facts: object) -> Transfer:
    from django.core.files.base import ContentFile
    from django.core.files.storage import default_storage

    from workbench.archives.models import Transfer

    known = Transfer.objects.filter(direction=direction).first()
    if known is not None:
        return known
    admin = _admin(scene)
    path = default_storage.save(f"archives/{direction}/archive.zip", ContentFile(b"archive"))
    facts |= {"requested_by": admin, "file_name": "alpha.zip", "path": path, "size": 7, "sha256": "0" * 64}
    return Transfer.objects.create(direction=direction, **facts)


def source_folder() -> Path:
    """A folder that may be watched: a test allows it for as long as its process lives."""
    from django.conf import settings

    folder = Path(settings.WORKBENCH_HOME) / "sources"
    if folder not in settings.SOURCE_FOLDERS:
        settings.SOURCE_FOLDERS.append(folder)
    return folder


def a_source(scene: Scene) -> Source:
    """A watched folder of the collection."""
    from workbench.sources.models import Source
    from workbench.sources.services import source_create

    collection = scene.document.collection
    known = Source.objects.filter(collection=collection).first()
    return known or source_create(
        actor=_admin(scene), collection=collection, kind="folder", name="In",
        settings={"folder": str(source_folder() / collection.slug)},
    )  # fmt: skip


def a_source_file(scene: Scene) -> SourceFile:
    """A file of it that failed."""
    from workbench.sources.models import SourceFile

    known = {"source": a_source(scene), "key": "a.txt", "key_sha256": "0" * 64, "fingerprint": "1:1"}
    facts = {"state": "failed", "error": "The file is empty.", "name": "a.txt"}
    return SourceFile.objects.get_or_create(**known, defaults=facts)[0]


def a_webhook(scene: Scene) -> Webhook:
    """An address elsewhere that is told of runs."""
    from workbench.webhooks.models import Webhook
    from workbench.webhooks.services import webhook_create

    admin = _admin(scene)
    collection = scene.document.collection
    known = Webhook.objects.filter(collection=collection).first()
    return (
        known
        or webhook_create(
            actor=admin, collection=collection, url="https://93.184.215.14/", events=["run.signed"]
        )[0]
    )


def a_delivery(scene: Scene) -> Delivery:
    """A message to it that was given up."""
    from django.db.models.functions import Now

    from workbench.webhooks.models import Delivery, DeliveryState

    delivery, _new = Delivery.objects.get_or_create(
        message_id="msg_1",
        defaults={
            "webhook": a_webhook(scene),
            "action": "run.signed",
            "payload": {"type": "run.signed", "data": {}},
            "state": DeliveryState.FAILED,
            "finished_at": Now(),
        },
    )
    return delivery


def a_bulk_approval(scene: Scene) -> int:
    """One of the collection's admin, with nothing left to decide."""
    from workbench.review.models import BulkApproval

    known = {"actor": _admin(scene), "reason": "Alike.", "items": [], "checks": []}
    return (BulkApproval.objects.filter(**known).first() or BulkApproval.objects.create(**known)).pk


def saved_view(scene: Scene) -> int:
    """A view of the collection's admin: each person has their own."""
    from workbench.review.models import SavedView

    admin = _admin(scene)
    return SavedView.objects.get_or_create(user=admin, name="Mine")[0].pk


@dataclass(frozen=True, slots=True)
class Address:
    """One entry of the URL map."""

    name: str
    route: str
    arguments: tuple[str, ...]


def addresses(resolver: URLResolver | None = None, prefix: str = "", space: str = "") -> Iterator[Address]:
    """Every address of the map; one without a name is called by its route."""
    resolver = resolver or get_resolver()
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            name = ":".join(part for part in (space, entry.namespace or "") if part)
            yield from addresses(entry, route, name)
        elif isinstance(entry, URLPattern):
            name = f"{space}:{entry.name}" if space else str(entry.name)
            yield Address(name if entry.name else route, route, _arguments(entry))


def _arguments(entry: URLPattern) -> tuple[str, ...]:
    return tuple(entry.pattern.regex.groupindex)


def fill(address: Address, scene: Scene) -> dict[str, object] | None:
    """Arguments that name an object of the scene; None for an address without any."""
    names = set(address.arguments) - {"format"}
    if not names:
        return None
    run = scene.run
    by_space: dict[str, Callable[[], object]] = {
        "accounts:": lambda: scene.run.requested_by_id,
        "scim:": lambda: scene.run.requested_by_id,
        "documents:": lambda: scene.document.pk,
        "questions:evidence": lambda: run.candidates.first().pk,
        "questions:comparison": lambda: scene.comparison.pk,
        "question_sets:set": lambda: scene.round.question_set_id,
        "question_sets:change": lambda: scene.round.question_set_id,
        "question_sets:start": lambda: scene.round.question_set_id,
        "question_sets:retry": lambda: scene.round.cells.first().pk,
        "question_sets:": lambda: scene.round.pk,
        "questions:": lambda: run.pk,
        "exports:run": lambda: run.pk,
        "exports:links": lambda: run.pk,
        "vocabulary:": lambda: scene.entry.pk,
        "ops:run-retry": lambda: run.pk,
        "tokens:": lambda: _token_of(scene.entry.proposed_by),
        "review:approve": lambda: run.candidates.first().pk,
        "review:override": lambda: run.candidates.first().pk,
        "review:unsure": lambda: run.candidates.first().pk,
        "review:not-found": lambda: run.pk,
        "review:sign": lambda: run.pk,
        "review:reopen": lambda: run.pk,
        "review:documents": lambda: run.pk,
        "review:lines": lambda: run.pk,
        "review:regenerate": lambda: run.pk,
        "review:against": lambda: run.pk,
        "review:receipt": lambda: run.candidates.first().pk,
        "review:comment": lambda: run.pk,
        "review:as-of": lambda: run.pk,
        "review:adjudicate": lambda: run.candidates.first().pk,
        "review:undo": lambda: run.candidates.first().pk,
        "review:claim-run": lambda: run.pk,
        "review:release-run": lambda: run.pk,
        "review:": lambda: run.queue_items.order_by("id").first().pk,
        "api:document": lambda: scene.document.pk,
        "api:queue": lambda: run.queue_items.order_by("id").first().pk,
        "api:run": lambda: run.pk,
        "api:vocabulary": lambda: scene.entry.pk,
        "api:question-set": lambda: scene.round.question_set_id,
        "api:round": lambda: scene.round.pk,
        "api:cell": lambda: scene.round.cells.first().pk,
        "api:comparison": lambda: scene.comparison.pk,
        "api:evaluation": _evaluation,
        "api:candidate": lambda: run.candidates.first().pk,
        "api:review": lambda: run.reviews.values_list("pk", flat=True).first(),
    }
    key: object = None
    if address.name in MADE:
        key = MADE[address.name](scene)
    elif named := next((start for start in by_space if address.name.startswith(start)), None):
        key = by_space[named]()
    known = {
        "slug": scene.document.collection.slug,
        "pk": key,
        "number": 3 if address.name == "ops:tour" else key,
        "row": key,
        "page_num": 1,
        "kind": "csv",
        "token": LINK_TOKEN,
        "name": "pointwise" if address.name == "api:prompt-detail" else "run.html",
        "document": scene.document.pk,
        "other": scene.document.pk,
        "person": scene.run.requested_by_id,
    }
    missing = [name for name in names if known.get(name) is None]
    assert not missing, f"say in tests/workbench/addresses.py what {missing} of {address.name} names"
    return {name: known[name] for name in names}


def _evaluation() -> int:
    """An evaluation of strategies on a labelled set."""
    from workbench.runs.models import EvaluationRun

    report = {"questions": 0, "answerable": 0, "strategies": {}}
    return EvaluationRun.objects.get_or_create(dataset="set", defaults={"report": report, "seconds": 1})[0].pk


def _token_of(user: User) -> int:
    """A token of somebody in alpha."""
    from workbench.api.models import ApiToken
    from workbench.api.tokens import token_create

    token = ApiToken.objects.filter(owner=user, revoked_at__isnull=True).first()
    return (token or token_create(actor=user, name="job", scopes=["view"], days=1)[0]).pk


def path_of(address: Address, scene: Scene) -> str:
    """The address as a path."""
    from django.urls import reverse

    return reverse(address.name, kwargs=fill(address, scene))


#: What addresses of other packages name: keys that open nothing, and a second factor.
_OF_PACKAGES: dict[str, Callable[[], str]] = {
    "key": lambda: "no-such-key",
    "uidb36": lambda: "1",
    "app_label": lambda: "mfa",
    "url": lambda: "x",
    "content_type_id": lambda: "1",
    "object_id": lambda: str(a_second_factor()),
}


def package_path(address: Address) -> str:
    """An address of another package as a path, by its route: some have no name."""
    path = re.sub(r"\(\?P(<\w+>)[^)]*\)", r"\1", address.route.replace("^", "").replace("$", ""))
    return "/" + re.sub(r"<(?:path:)?(\w+)>", lambda found: _OF_PACKAGES[found[1]](), path)


def a_second_factor() -> int:
    """The one of the second reviewer."""
    from allauth.mfa.models import Authenticator
    from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret

    owner = User.objects.get(email="second-reviewer@example.org")
    known = Authenticator.objects.filter(user=owner).first()
    return (known or TOTP.activate(owner, generate_totp_secret()).instance).pk


_EVERY = [address for address in addresses() if "format" not in address.arguments]
#: Every address of our own, each once.
ALL = [address for address in _EVERY if not address.route.startswith(PACKAGES)]
#: Those that other packages brought along.
OF_PACKAGES = [address for address in _EVERY if address.route.startswith(PACKAGES)]
