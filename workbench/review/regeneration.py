"""A new version of a stale answer, written from the reviewed evidence. Older versions are kept."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from arbitration.answers import Answer as WrittenAnswer
from arbitration.answers import write_answer
from arbitration.contracts import ROLE_ORDER, CandidateBrief, DecidedBy, Role
from arbitration.decision import Decision
from arbitration.errors import ArbitrationError
from arbitration.pool import CandidatePool, CandidateSignals, PoolCandidate, PoolDocument
from arbitration.strategies.base import StrategyServices, Verdict
from arbitration.written_answers import answer_with_model
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_any_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record, audit_work
from workbench.errors import Conflict, NotAllowed
from workbench.infra.dispatch import dispatch_on_commit
from workbench.infra.leases import Heartbeat, LeaseLost, lease_claim, lease_free, leased, new_owner
from workbench.infra.storable import storable, storable_json
from workbench.runs.decisions import decision_from_rows
from workbench.runs.execution import store_of
from workbench.runs.gateway import chat_model, give_connection_back
from workbench.runs.models import Answer, Candidate, ReviewState, Run, RunPool, RunStatus
from workbench.runs.records import anchor_of, context_of, span_of
from workbench.runs.strategies import needs_model

from .blindness import require_sight
from .candidates import candidates_of
from .models import Regeneration, RegenerationState
from .results import candidate_role, run_result
from .selectors import current_review
from .services import awaited_a_person
from .signing import is_being_written, items_to_decide

#: A request whose message should have arrived long ago.
LOST_AFTER = timedelta(seconds=10)


def answer_regenerate(*, actor: User, run: Run) -> Regeneration:
    """Requests a new version of the answer, or returns the one that is being written. Raises :class:`NotAllowed`, or
    :class:`Conflict` if a card of the run is hidden from the person, the answer is not stale, or the run is unfinished
    or signed."""
    if not has_any_permission(actor, run.collection, Permission.ASK, Permission.REVIEW):
        raise NotAllowed(_("You may not ask for a new answer in this collection."))
    require_sight(user=actor, runs=[run])  # whether it is stale tells what others decided
    with transaction.atomic():
        locked = Run.objects.select_for_update().get(pk=run.pk)
        if locked.status != RunStatus.DONE:
            raise Conflict(_("This run has not finished."), code="not_finished")
        if locked.review_state == ReviewState.SIGNED:
            raise Conflict(_("This run is signed. Reopen it first, with a reason."), code="signed")
        waiting = Regeneration.objects.filter(run=locked, state=RegenerationState.WAITING).first()
        if waiting is not None:
            return waiting
        if not _is_stale(locked):
            raise Conflict(_("The answer already rests on the current evidence."), code="not_stale")
        return _request(run=locked, actor=actor)


def answer_follow(*, run: Run) -> None:
    """Requests a new version of a stale answer automatically, once nothing in the run needs a decision. Call it in the
    transaction of the decision, with the run locked."""
    last = run.answers.last()
    if last is None or not last.is_stale or items_to_decide(run=run):
        return
    if not is_being_written(run=run):
        _request(run=run, actor=User.objects.system())


def _request(*, run: Run, actor: User) -> Regeneration:
    regeneration = Regeneration.objects.create(run=run, requested_by=actor)
    audit_record(
        actor=actor,
        action=Action.ANSWER_REQUESTED,
        obj=run,
        after={"regeneration": regeneration.pk},
    )
    dispatch_on_commit("review.regenerate", regeneration_id=regeneration.pk)
    return regeneration


def _is_stale(run: Run) -> bool:
    last = run.answers.last()
    return last is None or last.is_stale


def regenerations_to_wake() -> list[int]:
    """Keys of requests whose message or worker was lost."""
    rows = Regeneration.objects.filter(
        lease_free(), state=RegenerationState.WAITING, created_at__lt=Now() - LOST_AFTER
    )
    return list(rows.order_by("pk").values_list("pk", flat=True)[:100])


def regeneration_carry_out(*, regeneration_id: int) -> None:
    """Writes the new version. Safe to repeat, because a request is carried out once."""
    rows = Regeneration.objects.filter(pk=regeneration_id)
    owner = new_owner()
    if not lease_claim(rows.filter(state=RegenerationState.WAITING), owner=owner):
        return
    with leased(rows, owner=owner) as heartbeat:
        regeneration = rows.select_related("run__question__document", "run__collection").get()
        try:
            if regeneration.attempts > settings.MAX_ATTEMPTS:
                raise ArbitrationError(
                    _("This stopped its worker three times and was given up. Request it again.")
                )
            _carry_out(regeneration, owner, heartbeat)
        except LeaseLost:
            return
        except (ArbitrationError, RunPool.DoesNotExist) as error:
            _fail(regeneration, owner, str(error))


def _carry_out(regeneration: Regeneration, owner: str, heartbeat: Heartbeat) -> None:
    run = regeneration.run
    rows = candidates_of(run)
    before = evidence_hash(rows)
    pool = pool_with_people(run, rows)
    decision = effective_decision(run, rows)
    with chat_model(run=run) as chat:
        options = run.strategy_options or {}
        services = StrategyServices(chat=chat, store=store_of(run), progress=_silent, options=options)
        give_connection_back()
        write = answer_with_model if needs_model(run.strategy) else write_answer
        written = write(pool=pool, decision=decision, services=services)
    heartbeat.check()
    _store_answer(regeneration, owner, written, evidence=before)


def _store_answer(regeneration: Regeneration, owner: str, written: WrittenAnswer, *, evidence: str) -> None:
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=regeneration.run_id)
        held = Regeneration.objects.filter(
            pk=regeneration.pk, lease_owner=owner, state=RegenerationState.WAITING
        )
        if not held.exists():
            raise LeaseLost
        if run.review_state == ReviewState.SIGNED:
            held.update(state=RegenerationState.FAILED, failure=_("The run was signed."), finished_at=Now())
            return
        last = run.answers.aggregate(last=Max("version"))["last"] or 0
        answer = Answer.objects.create(
            run=run,
            version=last + 1,
            body=storable_json(written.model_dump(mode="json")),
            evidence_hash=evidence,
            # Somebody may have decided while the answer was being written.
            is_stale=evidence_hash(candidates_of(run)) != evidence,
        )
        held.update(state=RegenerationState.DONE, answer=answer, finished_at=Now())
        audit_work(
            action=Action.ANSWER_REGENERATED,
            obj=run,
            before={"version": last},
            after={"version": answer.version, "evidence_hash": evidence, "regeneration": regeneration.pk},
        )
        answer_follow(run=run)


def _fail(regeneration: Regeneration, owner: str, failure: str) -> None:
    failure = storable(failure).strip() or _("It failed without saying why.")
    with transaction.atomic():
        changed = Regeneration.objects.filter(
            pk=regeneration.pk, lease_owner=owner, state=RegenerationState.WAITING
        ).update(state=RegenerationState.FAILED, failure=failure, finished_at=Now())
        if changed:
            audit_work(
                action=Action.ANSWER_FAILED,
                obj=regeneration.run,
                reason=failure[:300],
            )


def evidence_hash(rows: list[Candidate]) -> str:
    """SHA-256 of the evidence for an answer: each candidate's text and effective role, and which candidates a person
    approved for it."""
    parts = sorted(
        f"{row.candidate_id} {row.text_hash} {candidate_role(row) or ''}{' person' * _is_let_in(row)}"
        for row in rows
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def effective_decision(run: Run, rows: list[Candidate]) -> Decision:
    """The engine's decision with people's roles in place of the machine's, and people's own evidence in it."""
    decision = decision_from_rows(run)
    machine = {verdict.candidate_id: verdict for verdict in decision.verdicts}
    verdicts = [_effective(machine.get(row.candidate_id), row) for row in rows]
    placed = sorted(verdicts, key=lambda v: len(ROLE_ORDER) if v.role is None else ROLE_ORDER[v.role])
    result = run_result(run, rows)
    # Rebuilt, not copied: the record's own checks must hold for people's decisions too.
    values = {name: getattr(decision, name) for name in type(decision).model_fields}
    return Decision(
        **values
        | {
            "verdicts": tuple(placed),
            "not_found": result.not_found,
            "not_found_reason": result.not_found_reason,
            "undecided_ids": tuple(v.candidate_id for v in placed if v.role is None),
        }
    )


def _effective(verdict: Verdict | None, row: Candidate) -> Verdict:
    role = candidate_role(row)
    if verdict is not None and verdict.role == role and not _has_word(row):
        return verdict
    person = DecidedBy(kind="person", name="reviewer")
    if verdict is None:
        return Verdict(
            candidate_id=row.candidate_id, role=role, reason="added by a person", decided_by=person
        )
    return verdict.model_copy(update={"role": Role(role) if role else None, "decided_by": person})


def _has_word(row: Candidate) -> bool:
    """Whether a person gave the role that counts, even if it equals the machine's."""
    review = current_review(row)
    return review is not None and review.role is not None


def _is_let_in(row: Candidate) -> bool:
    """Whether an answer may use the passage because a person agreed."""
    return awaited_a_person(row) and _has_word(row)


def pool_with_people(run: Run, rows: list[Candidate]) -> CandidatePool:
    pool = CandidatePool.model_validate(run.pool.body)
    known = {candidate.candidate_id for candidate in pool.candidates}
    added = [row for row in rows if row.candidate_id not in known]
    if not added:
        return pool
    documents = {document.document_id for document in pool.documents}
    strange = {row.document_id: row.document for row in added if row.document.public_id not in documents}
    return pool.model_copy(
        update={
            "candidates": (*pool.candidates, *(_pool_candidate(row, len(rows)) for row in added)),
            "documents": (
                *pool.documents,
                *(
                    PoolDocument(
                        document_id=document.public_id,
                        name=document.name,
                        page_count=document.page_count,
                        language=document.language,
                        title=document.title,
                        version_number=document.version_number,
                    )
                    for document in strange.values()
                ),
            ),
        }
    )


def _pool_candidate(row: Candidate, rank: int) -> PoolCandidate:
    text = row.text
    lines = row.document.lines.filter(
        is_furniture=False, page_num__range=(row.anchor_page_start, row.anchor_page_end)
    ).order_by("page_num", "line_num")
    first, last = span_of(row)
    places = lines.values_list("page_num", "line_num")
    return PoolCandidate(
        candidate_id=row.candidate_id,
        document_id=row.document.public_id,
        anchor=anchor_of(row),
        context=context_of(row),
        anchor_text=text.anchor,
        anchor_lines=tuple(place[1] for place in places if first <= place <= last),
        context_text=text.context,
        section_title=row.section_title or None,
        breadcrumb=row.breadcrumb or None,
        ranks=row.ranks,
        scores=row.scores,
        why=row.whys,
        rrf_score=0.0,
        rrf_rank=rank,
        signals=CandidateSignals(),
        brief=CandidateBrief(candidate_id=row.candidate_id, methods=row.methods, snippet=text.snippet),
    )


def _silent(*args: object, **kwargs: object) -> None:
    """Reports no stages, because nobody watches those of a new version."""
