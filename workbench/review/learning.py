"""Dictionary learning: a confirmed passage found only by meaning teaches the collection a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from django.db import IntegrityError, connection, transaction

from arbitration.aliases import AliasProposal, propose_alias
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Document
from workbench.errors import WorkbenchError
from workbench.runs.models import Candidate, RoleChoice
from workbench.synonyms.models import DictionaryEntry, EntryKind
from workbench.synonyms.selectors import entry_of_pair
from workbench.synonyms.services import checked_pair, pair_on_record

from .models import Review

#: The detector that needs no word in common, and the one that function words alone may wake.
MEANING, LEXICAL = "embedding", "bm25"
CONFIRMED = (RoleChoice.PRIMARY, RoleChoice.SUPPORTING)


def alias_learn(*, review: Review) -> DictionaryEntry | None:
    """Proposes an alias if a person confirms evidence that keywords missed. None if there is nothing to learn or the
    pair is known (a rejected pair is not proposed again). Call it inside the decision's transaction."""
    candidate = review.candidate
    if candidate is None or review.role not in CONFIRMED or not _is_missed_by_keywords(candidate):
        return None
    proposal = _proposal(candidate)
    if proposal is None:
        return None
    try:
        term, variant = checked_pair(proposal.term, proposal.variant)
    except WorkbenchError:
        return None  # a phrase that no person could enter either
    if entry_of_pair(collection=candidate.run.collection, term=term, variant=variant):
        return None
    return _entry_propose(review=review, term=term, variant=variant, proposal=proposal)


def _is_missed_by_keywords(candidate: Candidate) -> bool:
    """Whether it was found only by meaning: it contains no keyword, and neither title nor reference led to it."""
    methods = set(candidate.methods)
    return MEANING in methods and methods <= {MEANING, LEXICAL} and not candidate.matched_keywords


def _proposal(candidate: Candidate) -> AliasProposal | None:
    text = getattr(candidate, "text", None)
    if text is None:
        return None
    return propose_alias(
        question=candidate.run.question.text,
        evidence=text.anchor,
        section_title=candidate.section_title,
        language=candidate.document.language,
        frequency=partial(phrase_frequency, candidate.document),
    )


def _entry_propose(
    *, review: Review, term: str, variant: str, proposal: AliasProposal
) -> DictionaryEntry | None:
    system = User.objects.system()
    try:
        with transaction.atomic():
            entry = DictionaryEntry.objects.create(
                collection=review.run.collection,
                term=term,
                variant=variant,
                kind=EntryKind.TRANSLATION if proposal.is_translation else EntryKind.ALIAS,
                language=proposal.language,
                proposed_from=review,
                proposed_by=system,
            )
            audit_record(
                actor=system,
                action=Action.VOCABULARY_PROPOSED,
                obj=entry,
                after={**pair_on_record(entry), "kind": entry.kind, "review": review.pk},
            )
    except IntegrityError:
        return None  # another decision taught it at the same moment
    return entry


def phrase_frequency(document: Document, phrases: Sequence[str]) -> Mapping[str, int]:
    """How many passages of the document contain each phrase, ignoring case."""
    with connection.cursor() as cursor:
        cursor.execute(_FREQUENCY, [list(phrases), document.pk])
        return dict(cursor.fetchall())


_FREQUENCY = """
    SELECT asked.phrase, count(p.id)
    FROM unnest(%s::text[]) AS asked(phrase)
    LEFT JOIN documents_passage p
      ON p.document_id = %s AND position(lower(asked.phrase) IN lower(p.text)) > 0
    GROUP BY asked.phrase
"""
