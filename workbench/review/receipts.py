"""The receipt of a verdict: its inputs as IDs, figures and hashes.

A receipt contains no document text and no words of a model. Texts are given by their SHA-256.
"""

from __future__ import annotations

from typing import Any

from workbench.audit.models import AuditEvent
from workbench.runs.models import Candidate, LLMCall, Verdict
from workbench.runs.records import anchor_of, context_of, decider_fields, verdict_of

from .record import record_digest, text_hash
from .results import candidate_role
from .signing import standing_signature


def receipt_of(candidate: Candidate) -> dict[str, Any]:
    """The receipt as plain JSON. ``sha256`` is the hash of everything else (``record.record_digest``)."""
    run, document = candidate.run, candidate.document
    verdict = verdict_of(candidate)
    body = {
        "receipt": 1,
        "candidate": candidate.pk,
        "candidate_id": candidate.candidate_id,
        "run": {
            "id": run.pk,
            "strategy": run.strategy,
            "question_sha256": text_hash(run.question.text),
            "settings": run.settings,
            "settings_sha256": record_digest(run.settings),
            "asked_at": _moment(run.created_at),
            "finished_at": _moment(run.finished_at),
            "methods_run": run.methods_run,
        },
        "document": {
            "id": document.public_id,
            "sha256": document.sha256,
            "version": document.version_number,
            "kind": document.kind,
        },
        "passage": {
            "anchor": anchor_of(candidate).model_dump(),
            "context": context_of(candidate).model_dump(),
            "text_sha256": candidate.text_hash,
        },
        "detectors": {
            method: {"rank": candidate.ranks.get(method), "score": candidate.scores.get(method)}
            for method in candidate.methods
        },
        "fused": {"rank": candidate.rrf_rank, "score": candidate.rrf_score},
        "features": candidate.features,
        "verdict": _verdict(verdict) if verdict else None,
        "calls": [_call(call) for call in run.llm_calls.order_by("id")],
        "effective_role": candidate_role(candidate),
        "decisions": [_decision(review) for review in candidate.reviews.all()],
        "signature": _signature(candidate),
        "trail": _trail(candidate),
    }
    return body | {"sha256": record_digest(body)}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "role": verdict.role,
        "reason_sha256": text_hash(verdict.reason),
        "counter_argument_sha256": text_hash(verdict.counter_argument),
        "decided_by": decider_fields(verdict),
        "probability": verdict.probability,
        "model_confidence": verdict.model_confidence,
        "raw_score": verdict.raw_score,
        "score_scale": verdict.score_scale,
        "normalised_score": verdict.normalised_score,
        "needs_person": verdict.needs_person,
        "injection_suspected": verdict.injection_suspected,
        "injection_words_sha256": text_hash(verdict.injection_words),
        "quotes": [{"status": quote.get("status")} for quote in verdict.quotes],
        "at": _moment(verdict.created_at),
    }


def _call(call: LLMCall) -> dict[str, Any]:
    return {
        "stage": call.stage,
        "endpoint": call.endpoint,
        "model": call.model,
        "prompt": {"name": call.prompt_name, "version": call.prompt_version, "sha256": call.prompt_hash},
        "parameters": call.parameters,
        "request_sha256": call.request_hash,
        "attempt": call.attempt,
        "outcome": call.outcome,
        "tokens": {"input": call.input_tokens, "cached": call.cached_tokens, "output": call.output_tokens},
        "at": _moment(call.created_at),
    }


def _decision(review: Any) -> dict[str, Any]:
    return {
        "review": review.pk,
        "by": review.reviewer_id,
        "action": review.action,
        "role": review.role,
        "reason_code": review.reason_code,
        "comment_sha256": text_hash(review.comment),
        "blind": review.blind,
        "supersedes": review.supersedes_id,
        "at": _moment(review.created_at),
    }


def _signature(candidate: Candidate) -> dict[str, Any] | None:
    signature = standing_signature(run=candidate.run)
    if signature is None:
        return None
    return {
        "signer": signature.signer_id,
        "meaning": signature.meaning,
        "record_sha256": signature.record_sha256,
        "at": _moment(signature.signed_at),
    }


def _trail(candidate: Candidate) -> list[dict[str, Any]]:
    """The audit events of the candidate, with their place in the hash chain once sealed."""
    events = AuditEvent.objects.of_object(candidate).select_related("seal").order_by("id")[:200]
    return [
        {
            "event": event.pk,
            "action": event.action,
            "position": event.seal.position if hasattr(event, "seal") else None,
            "hash": event.seal.hash if hasattr(event, "seal") else None,
        }
        for event in events
    ]


def _moment(value: Any) -> str | None:
    return value.isoformat() if value else None
