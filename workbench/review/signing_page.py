"""What the signing page shows."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.utils.translation import gettext as _

from arbitration.contracts import Role
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_in
from workbench.runs.models import Candidate, RoleChoice, Run, RunStatus, dom_id_of
from workbench.runs.records import anchor_of
from workbench.runs.words import run_crumbs

from .blindness import withheld_words
from .candidates import candidates_of
from .forms import SignForm
from .models import QueueItem, Signature
from .record import record_digest, signed_record
from .results import candidate_role
from .run_answer import answer_of
from .selectors import text_changes_of
from .signing import is_being_written, items_to_decide


def sign_page(*, run: Run, user: User, form: SignForm) -> dict[str, Any]:
    """The record's hash and contents, what is still due, and all signatures."""
    may = permissions_in(user, run.collection)
    rows = candidates_of(run)
    digest = record_digest(signed_record(run, rows))
    roles = Counter(candidate_role(row) or "" for row in rows)
    withheld = withheld_words(user=user, run=run)
    signatures = _signatures(run, digest=digest)
    standing = next((row for row in signatures if row["stands"]), None)
    told = {} if withheld else answer_of(run=run, reviewer=None, roles=[candidate_role(row) for row in rows])
    answer = run.answers.last() if withheld else told["answer"]
    waiting = items_to_decide(run=run) if withheld else told["standing"].waiting
    is_coming = is_being_written(run=run)
    return told | {
        "run": run,
        "collection": run.collection,
        "form": form,
        "withheld": withheld,
        "digest": "" if withheld else digest,
        "counts": []
        if withheld
        else [(role, label, roles.get(role, 0)) for role, label in RoleChoice.choices],
        "evidence": [] if withheld else _evidence(run, rows),
        "waiting": [_waiting(run, item) for item in waiting],
        "is_being_written": is_coming,
        "signatures": signatures,
        "standing": standing,
        "text_changes": text_changes_of(run=run),
        "answer_is_stale": answer is not None and answer.is_stale and not withheld,
        "may_sign": Permission.REVIEW in may
        and standing is None
        and not waiting
        and not is_coming
        and run.status == RunStatus.DONE,
        "may_reopen": standing is not None and bool({Permission.REVIEW, Permission.MANAGE} & may),
        "crumbs": run_crumbs(run, here=_("Signature")),
    }


def _evidence(run: Run, rows: list[Candidate]) -> list[dict[str, Any]]:
    """What the answer may rest on, primary passages first."""
    kept = [(role, row) for row in rows if (role := candidate_role(row)) in (Role.PRIMARY, Role.SUPPORTING)]
    return [
        {
            "role": role,
            "document": str(row.document),
            "scope": anchor_of(row),
            "url": f"{run.get_absolute_url()}#{dom_id_of(row.candidate_id)}",
        }
        for role, row in sorted(kept, key=lambda pair: pair[0] != Role.PRIMARY)
    ]


def _signatures(run: Run, *, digest: str) -> list[dict[str, Any]]:
    """Newest first, each with the check of its hashes."""
    rows = run.signatures.select_related("signer", "reopening__reopened_by").order_by("-pk")
    return [_signature(row, digest=digest) for row in rows]


def _signature(row: Signature, *, digest: str) -> dict[str, Any]:
    reopening = getattr(row, "reopening", None)
    return {
        "signature": row,
        "stands": reopening is None,
        "reopening": reopening,
        "record_is_whole": record_digest(row.record) == row.record_sha256,
        "run_is_unchanged": digest == row.record_sha256,
    }


def _waiting(run: Run, item: QueueItem) -> dict[str, Any]:
    if item.candidate is None:
        return {"label": _("the not-found"), "url": run.get_absolute_url()}
    url = item.candidate.get_absolute_url()
    return {"label": item.candidate.document, "scope": anchor_of(item.candidate), "url": url}
