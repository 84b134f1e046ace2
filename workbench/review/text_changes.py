"""Signed runs whose text a new version changed: the signature stays as what was signed, and the run says so.

What such a run rests on is looked for in the new version by its text: each passage that counts as evidence, and for a
not-found the whole document. What changed waits in the queue, and whoever signed is told. One transaction a run, each
passage told once: the work may stop anywhere, be started again, or be done by two workers at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Coalesce, Now

from arbitration.contracts import Role
from arbitration.versions import AnchorMatch, VersionLine, VersionText, text_key
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_work
from workbench.documents.models import Document, DocumentStatus
from workbench.documents.versions import versions_of
from workbench.runs.models import Candidate, ReviewState, Run
from workbench.runs.records import span_of

from .candidates import candidates_of
from .models import CarriedState, NotificationKind, Signature, TextChange
from .notifications import notify
from .results import candidate_role
from .version_text import REOPENED_WHY, STATES, Span, body_lines, item_reopen

#: Roles of the passages that a run rests on.
EVIDENCE = frozenset({Role.PRIMARY, Role.SUPPORTING, Role.TANGENTIAL})


@dataclass(frozen=True, slots=True)
class Found:
    """What became of a passage, or of the whole document for a not-found, in the new version."""

    candidate: Candidate | None
    state: CarriedState
    matched_hash: str


@dataclass
class _Versions:
    """The new version, and those before it that can still be read, each compared once a passage."""

    newer: Document
    _lines: dict[int, list[VersionLine]] = field(default_factory=dict)
    _matches: dict[tuple[int, Span], tuple[CarriedState, str] | None] = field(default_factory=dict)

    @cached_property
    def earlier(self) -> dict[int, Document]:
        chain = versions_of(self.newer)
        before = chain[: [one.pk for one in chain].index(self.newer.pk)]
        return {one.pk: one for one in before if one.status == DocumentStatus.READY}

    @cached_property
    def _text(self) -> VersionText:
        return VersionText(self.lines(self.newer))

    def lines(self, document: Document) -> list[VersionLine]:
        if document.pk not in self._lines:
            self._lines[document.pk] = body_lines(document)
        return self._lines[document.pk]

    def whole(self, document: Document) -> str:
        return text_key([line.text for line in self.lines(document)])

    def match(self, candidate: Candidate) -> tuple[CarriedState, str] | None:
        """The state of a passage in the new version, and the hash of its text there. None if its text is unknown."""
        span = span_of(candidate)
        key = candidate.document_id, span
        if key not in self._matches:
            self._matches[key] = self._matched(self.earlier[candidate.document_id], span)
        return self._matches[key]

    def _matched(self, document: Document, span: Span) -> tuple[CarriedState, str] | None:
        lines = self.lines(document)
        numbers = [n for n, line in enumerate(lines) if span[0] <= line.position <= span[1]]
        if not numbers:
            return None
        passage = [lines[n] for n in numbers]
        match: AnchorMatch = self._text.match(
            [line.text for line in passage], heading=passage[0].heading, place=numbers[0] / len(lines)
        )
        return STATES[match.state], text_key([line.text for line in match.lines]) if match.lines else ""


def signed_runs_mark(*, newer: Document, accepted_by: User) -> int:
    """Marks each signed run that rests on text which this version changed; the number of runs marked now."""
    versions = _Versions(newer)
    if not versions.earlier:
        return 0
    resting = Q(candidates__document__in=versions.earlier) | Q(
        not_found=True, question__document__in=versions.earlier
    )
    runs = Run.objects.filter(resting, review_state=ReviewState.SIGNED).order_by("pk").distinct()
    keys = list(runs.values_list("pk", flat=True))
    return sum(_mark(key, versions=versions, accepted_by=accepted_by) for key in keys)


def _mark(run_id: int, *, versions: _Versions, accepted_by: User) -> bool:
    with transaction.atomic():
        locked = Run.objects.select_for_update(of=("self",)).select_related("question", "collection")
        run = locked.get(pk=run_id)
        signature = run.signatures.filter(reopening__isnull=True).select_related("signer").last()
        if signature is None:  # reopened meanwhile
            return False
        changes = list(_untold(run, signature=signature, versions=versions))
        if not changes:
            return False
        TextChange.objects.bulk_create(
            TextChange(
                signature=signature,
                candidate=one.candidate,
                document=versions.newer,
                state=one.state,
                matched_hash=one.matched_hash,
            )
            for one in changes
        )
        for one in changes:
            item_reopen(run=run, candidate=one.candidate, why=REOPENED_WHY[one.state])
        Run.objects.filter(pk=run.pk).update(text_changed_at=Coalesce("text_changed_at", Now()))
        audit_work(
            action=Action.RUN_TEXT_CHANGED,
            obj=run,
            after={
                "document": versions.newer.pk,
                "signature": signature.pk,
                "passages": {
                    one.candidate.candidate_id if one.candidate else "": str(one.state) for one in changes
                },
            },
        )
        notify(
            users=[signature.signer],
            kind=NotificationKind.TEXT_CHANGED,
            actor=accepted_by,
            run=run,
            tells_actor=True,
        )
    return True


def _untold(run: Run, *, signature: Signature, versions: _Versions) -> Iterator[Found]:
    """What changed and was not told of this version yet, nor just so of the one before it."""
    told = TextChange.objects.filter(signature=signature).order_by("id")
    last = {row.candidate_id: row for row in told}
    for one in _changed(run, versions=versions):
        before = last.get(one.candidate.pk if one.candidate else None)
        if before and (before.document_id == versions.newer.pk or before.matched_hash == one.matched_hash):
            continue
        yield one


def _changed(run: Run, *, versions: _Versions) -> Iterator[Found]:
    for candidate in candidates_of(run):
        if candidate.document_id not in versions.earlier or candidate_role(candidate) not in EVIDENCE:
            continue
        found = versions.match(candidate)
        if found is not None and found[0] in REOPENED_WHY:
            yield Found(candidate, *found)
    asked = versions.earlier.get(run.question.document_id or 0)
    if run.not_found and asked is not None:
        now = versions.whole(versions.newer)
        if versions.whole(asked) != now:
            yield Found(None, CarriedState.CHANGED, now)
