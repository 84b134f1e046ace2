"""Serializers of runs, candidates and decisions. They check form; the services decide."""

from __future__ import annotations

import copy
from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from arbitration.contracts import DecidedBy
from workbench.runs.models import Candidate, RoleChoice, Run
from workbench.runs.records import anchor_of, context_of
from workbench.runs.serializers import ScopeFilterSerializer

from .answer_standing import AnswerState
from .blindness import Sight, is_withheld
from .cards import item_of
from .models import ReasonCode, Regeneration, Review, ReviewAction
from .results import candidate_role


def sight_in(context: dict[str, Any]) -> Sight:
    """What the caller may see; created once per response. Every response belongs to a caller: a serializer without a
    request is a bug, not a way around the rule."""
    if "sight" not in context:
        context["sight"] = Sight(context["request"].user)
    sight: Sight = context["sight"]
    return sight


#: What a run came to: null while a card of it is hidden from the caller.
_OUTCOME = (
    *("not_found", "not_found_reason", "no_strong_match", "confidence", "needs_person"),
    *("llm_call_count", "cost", "unpriced_call_count", "elapsed_ms"),
)


@extend_schema_serializer(deprecate_fields=["question"])
class RunSerializer(serializers.ModelSerializer[Run]):
    """A run: one question answered once by one strategy. While the caller must still decide one of its cards blind,
    ``is_withheld`` is true and its results are null: ``not_found``, ``not_found_reason``, ``no_strong_match``,
    ``confidence``, ``needs_person``, the model calls, their ``cost`` and ``elapsed_ms``."""

    collection = serializers.SlugRelatedField("slug", read_only=True)
    text = serializers.CharField(source="question.text", read_only=True, help_text="The question.")
    question = serializers.CharField(source="question.text", read_only=True, help_text="Same as `text`.")
    document = serializers.IntegerField(source="question.document_id", read_only=True, allow_null=True)
    filters = ScopeFilterSerializer(source="question.filters", read_only=True, allow_null=True)
    methods_run = serializers.ListField(child=serializers.CharField(), read_only=True)
    methods_skipped = serializers.ListField(child=serializers.CharField(), read_only=True)
    skipped_reasons = serializers.DictField(child=serializers.CharField(), read_only=True)
    methods = serializers.ListField(
        source="settings.forced_methods", child=serializers.CharField(), read_only=True, default=list
    )
    follows = serializers.IntegerField(
        source="follows_id",
        read_only=True,
        allow_null=True,
        help_text="ID of the run that this one follows up.",
    )
    is_withheld = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = [
            "id", "collection", "document", "filters", "methods", "follows", "text", "question", "strategy",
            "status", "review_state",
            "text_changed_at", "methods_run", "methods_skipped", "skipped_reasons", "not_found", "not_found_reason",
            "no_strong_match", "confidence", "needs_person", "failure_reason", "llm_call_count", "cost",
            "unpriced_call_count", "elapsed_ms", "is_withheld", "created_at", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = {name: {"allow_null": True} for name in _OUTCOME}

    def get_is_withheld(self, run: Run) -> bool:
        """Whether the result of the run is hidden from the caller."""
        known: bool | None = getattr(run, "is_withheld", None)  # a queryset may have asked for all its rows
        if known is None:
            return is_withheld(user=self.context["request"].user, run=run)
        return known

    def to_representation(self, run: Run) -> dict[str, Any]:
        shown: dict[str, Any] = super().to_representation(run)
        return shown | dict.fromkeys(_OUTCOME) if shown["is_withheld"] else shown


class AskedSerializer(serializers.Serializer[Any]):
    """The run that answers a question."""

    cached = serializers.BooleanField()
    run = RunSerializer()


class ScopeSerializer(serializers.Serializer[Any]):
    """A range of lines, inclusive and 1-based."""

    page_start = serializers.IntegerField()
    page_end = serializers.IntegerField()
    line_start = serializers.IntegerField()
    line_end = serializers.IntegerField()
    section_id = serializers.CharField(allow_null=True)


class DecidedBySerializer(serializers.Serializer[Any]):
    """The person or machine that decided."""

    kind = serializers.CharField()
    name = serializers.CharField()
    version = serializers.CharField(allow_null=True)


class VerdictSerializer(serializers.Serializer[Any]):
    """The machine's verdict."""

    role = serializers.ChoiceField(choices=RoleChoice.choices, allow_null=True)
    reason = serializers.CharField()
    decided_by = DecidedBySerializer()
    probability = serializers.FloatField(allow_null=True)
    model_confidence = serializers.FloatField(
        allow_null=True,
        help_text=(
            "Confidence stated by the language model. `probability` is the calibrated probability of the reranker."
        ),
    )
    needs_person = serializers.BooleanField()
    needs_person_reasons = serializers.ListField(child=serializers.CharField())
    injection_suspected = serializers.BooleanField()
    injection_words = serializers.ListField(
        child=serializers.CharField(),
        help_text="Words of the passage that suggest a prompt injection. Untrusted document text.",
    )
    counter_argument = serializers.CharField()
    terms = serializers.DictField(child=serializers.FloatField())


class ReviewSerializer(serializers.ModelSerializer[Review]):
    """A person's decision."""

    reviewer = serializers.CharField(source="reviewer.name", read_only=True)
    reason_code = serializers.CharField(read_only=True, help_text="Reason for an override, else empty.")

    class Meta:
        model = Review
        fields = [
            "id", "run", "candidate", "reviewer", "action", "role", "machine_role", "reason_code", "comment",
            "supersedes", "created_at",
        ]  # fmt: skip
        read_only_fields = fields


class ReviewCreateSerializer(serializers.Serializer[Any]):
    """A decision on a candidate. ``seen_review`` is the latest decision the caller saw, if any."""

    candidate = serializers.IntegerField(min_value=1)
    action = serializers.ChoiceField(
        choices=[ReviewAction.APPROVE, ReviewAction.OVERRIDE, ReviewAction.UNSURE]
    )
    role = serializers.ChoiceField(choices=RoleChoice.choices, required=False, allow_null=True, default=None)
    reason_code = serializers.ChoiceField(
        choices=ReasonCode.choices, required=False, allow_blank=True, default=""
    )
    comment = serializers.CharField(max_length=4000, required=False, allow_blank=True, default="")
    seen_review = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1)


#: What a hidden candidate shows instead of who found it, how well, and what was said of it.
_HIDDEN: dict[str, Any] = {
    "methods": [],
    "ranks": {},
    "scores": {},
    "whys": {},
    "rrf_score": None,
    "rrf_rank": None,
    "effective_role": None,
    "verdict": None,
    "reviews": [],
}


class CandidateSerializer(serializers.ModelSerializer[Candidate]):
    """A candidate passage: how it was found, the machine's verdict and people's decisions. While a reviewer must decide
    blind, ``is_hidden`` is true and fields that would reveal its role or rank are null or empty."""

    anchor = serializers.SerializerMethodField()
    context = serializers.SerializerMethodField()
    effective_role = serializers.SerializerMethodField()
    verdict = serializers.SerializerMethodField()
    snippet = serializers.SerializerMethodField()
    text = serializers.SerializerMethodField()
    is_erased = serializers.SerializerMethodField()
    methods = serializers.ListField(child=serializers.CharField(), read_only=True)
    ranks = serializers.DictField(
        child=serializers.IntegerField(allow_null=True),
        read_only=True,
        help_text="Rank by detector; 1 is best.",
    )
    scores = serializers.DictField(
        child=serializers.FloatField(allow_null=True), read_only=True, help_text="Score by detector."
    )
    whys = serializers.DictField(
        child=serializers.CharField(allow_blank=True), read_only=True, help_text="Score by detector."
    )
    matched_keywords = serializers.ListField(child=serializers.CharField(), read_only=True)
    reviews = ReviewSerializer(many=True, read_only=True)
    is_hidden = serializers.SerializerMethodField()

    class Meta:
        model = Candidate
        fields = [
            "id", "run", "document", "candidate_id", "anchor", "context", "section_title", "breadcrumb", "methods",
            "ranks", "scores", "whys", "matched_keywords", "rrf_score", "rrf_rank", "snippet", "text",
            "is_erased", "is_hidden", "effective_role", "verdict", "reviews",
        ]  # fmt: skip
        read_only_fields = fields

    def to_representation(self, candidate: Candidate) -> dict[str, Any]:
        shown: dict[str, Any] = super().to_representation(candidate)
        return shown | copy.deepcopy(_HIDDEN) if shown["is_hidden"] else shown

    def get_is_hidden(self, candidate: Candidate) -> bool:
        """Whether the caller must decide before seeing the machine's role."""
        return sight_in(self.context).hides(item=item_of(candidate), run=candidate.run)

    @extend_schema_field(ScopeSerializer)
    def get_anchor(self, candidate: Candidate) -> dict[str, Any]:
        """Where the evidence stands."""
        return anchor_of(candidate).model_dump()

    @extend_schema_field(ScopeSerializer)
    def get_context(self, candidate: Candidate) -> dict[str, Any]:
        """What is shown around it."""
        return context_of(candidate).model_dump()

    @extend_schema_field(serializers.ChoiceField(choices=RoleChoice.choices, allow_null=True))
    def get_effective_role(self, candidate: Candidate) -> str | None:
        """The person's role, else the machine's."""
        return candidate_role(candidate)

    @extend_schema_field(VerdictSerializer(allow_null=True))
    def get_verdict(self, candidate: Candidate) -> dict[str, Any] | None:
        """The machine's word; null while the run goes on."""
        verdict = getattr(candidate, "verdict", None)
        if verdict is None:
            return None
        decided_by = DecidedBy(
            kind=verdict.decided_by_kind,
            name=verdict.decided_by_name,
            version=verdict.decided_by_version or None,
        )
        return {
            "role": verdict.role,
            "reason": verdict.reason,
            "decided_by": decided_by.model_dump(),
            "probability": verdict.probability,
            "model_confidence": verdict.model_confidence,
            "needs_person": verdict.needs_person,
            "needs_person_reasons": verdict.needs_person_reasons,
            "injection_suspected": verdict.injection_suspected,
            "injection_words": verdict.injection_words,
            "counter_argument": verdict.counter_argument,
            "terms": verdict.terms,
        }

    def get_is_erased(self, candidate: Candidate) -> bool:
        """Whether the text was erased with its document. Snippet and text are then empty."""
        return not hasattr(candidate, "text")

    def get_snippet(self, candidate: Candidate) -> str:
        """Excerpt of three to five lines."""
        return candidate.text.snippet if hasattr(candidate, "text") else ""

    def get_text(self, candidate: Candidate) -> str:
        """Text of the passage with its context."""
        return candidate.text.context if hasattr(candidate, "text") else ""


class SigningSerializer(serializers.Serializer[Any]):
    """What a signature would cover now, and what must be decided first."""

    record_sha256 = serializers.CharField()
    record = serializers.DictField()
    waiting = serializers.ListField(child=serializers.IntegerField(), help_text="IDs of queue items.")


class CitationSerializer(serializers.Serializer[Any]):
    """The lines that support a sentence: inclusive, 1-based."""

    candidate = serializers.IntegerField(allow_null=True, help_text="ID of the candidate.")
    candidate_id = serializers.CharField()
    document = serializers.IntegerField(help_text="ID of the document.")
    document_name = serializers.CharField()
    place = serializers.CharField(help_text='Location in words, such as "page 2, lines 9–10".')
    page_start = serializers.IntegerField()
    line_start = serializers.IntegerField()
    page_end = serializers.IntegerField()
    line_end = serializers.IntegerField()


class AnswerSentenceSerializer(serializers.Serializer[Any]):
    """A sentence of an answer."""

    text = serializers.CharField()
    citations = CitationSerializer(many=True)


class TextDifferenceSerializer(serializers.Serializer[Any]):
    """Two texts in the evidence, one of which replaces the other. ``in_force`` is null if that text is unknown or must
    not be quoted yet."""

    kind = serializers.CharField(
        help_text="How the texts relate: replaced, version, amended, overridden or ended."
    )
    headline = serializers.CharField()
    statement = serializers.CharField(help_text="What each text says, the text in force first.")
    in_force = AnswerSentenceSerializer(allow_null=True)
    replaced = AnswerSentenceSerializer(allow_null=True)


class AnswerVersionSerializer(serializers.Serializer[Any]):
    """A version of an answer, based on the evidence at its time."""

    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    is_stale = serializers.BooleanField(help_text="Whether the evidence has changed since.")
    evidence_hash = serializers.CharField()
    statement = serializers.CharField()
    sentences = AnswerSentenceSerializer(many=True)


class WaitingCardSerializer(serializers.Serializer[Any]):
    """A card that must be decided before the answer is final: a passage, or the not-found result if ``candidate`` is
    null."""

    item = serializers.IntegerField(help_text="ID of the queue item.")
    candidate = serializers.IntegerField(allow_null=True)
    document_name = serializers.CharField(allow_blank=True)
    place = serializers.CharField(allow_blank=True)
    cannot_tell = serializers.CharField(
        allow_blank=True, help_text="Person who could not tell; empty if nobody."
    )


class NearestSerializer(serializers.Serializer[Any]):
    """A near passage that does not answer, with the reason."""

    candidate = serializers.IntegerField()
    document_name = serializers.CharField()
    place = serializers.CharField()
    text = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)
    holds = serializers.ListField(
        child=serializers.CharField(), help_text="Searched words that the passage contains."
    )
    lacks = serializers.ListField(
        child=serializers.CharField(), help_text="Searched words that the passage lacks."
    )


class AnswerSerializer(serializers.Serializer[Any]):
    """The newest answer of a run, and all its versions. ``state`` is "none" while there is no answer, "provisional"
    while passages need review or the answer is stale, then "final" or "signed"."""

    run = serializers.IntegerField()
    question = serializers.CharField()
    state = serializers.ChoiceField(choices=[str(state) for state in AnswerState])
    waiting = serializers.ListField(
        child=serializers.IntegerField(), help_text="IDs of the queue items that must be decided first."
    )
    waiting_for = WaitingCardSerializer(many=True)
    not_found = serializers.BooleanField(help_text="Result after people's decisions.")
    not_found_confirmed_by = serializers.CharField(
        allow_null=True, help_text="Person who confirmed the result, once nothing is left to decide."
    )
    nearest = NearestSerializer(
        many=True, help_text="For a not-found result: the nearest passages and why they do not answer."
    )
    kind = serializers.CharField(allow_blank=True)
    language = serializers.CharField(allow_blank=True)
    statement = serializers.CharField(allow_blank=True)
    sentences = AnswerSentenceSerializer(many=True)
    differences = TextDifferenceSerializer(many=True)
    version = serializers.IntegerField(allow_null=True)
    is_stale = serializers.BooleanField()
    is_being_written = serializers.BooleanField(
        help_text="Whether a new version is being written. The last decision triggers one automatically."
    )
    created_at = serializers.DateTimeField(allow_null=True)
    versions = AnswerVersionSerializer(many=True, help_text="Oldest first.")


class EvidenceSerializer(serializers.Serializer[Any]):
    """Lines of a document (inclusive, 1-based), their role and what they show."""

    document = serializers.IntegerField(min_value=1)
    page_start = serializers.IntegerField(min_value=1, max_value=10**6)
    line_start = serializers.IntegerField(min_value=1, max_value=10**6)
    page_end = serializers.IntegerField(min_value=1, max_value=10**6)
    line_end = serializers.IntegerField(min_value=1, max_value=10**6)
    role = serializers.ChoiceField(choices=RoleChoice.choices)
    reason = serializers.CharField(max_length=2000)


class NotFoundSerializer(serializers.Serializer[Any]):
    """A decision on a not-found result. To refute it, give the location of the answer in the comment, or the
    ``candidate`` that answers, which becomes primary."""

    decision = serializers.ChoiceField(choices=["confirm", "refute"])
    candidate = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, max_value=2**63 - 1
    )
    comment = serializers.CharField(max_length=4000, required=False, allow_blank=True, default="")


class RegenerationSerializer(serializers.ModelSerializer[Regeneration]):
    """A new version of an answer that is being written."""

    class Meta:
        model = Regeneration
        fields = ["id", "run", "state", "failure", "answer", "created_at", "finished_at"]
        read_only_fields = fields


class ChoiceSerializer(serializers.Serializer[Any]):
    """A role and a comment."""

    role = serializers.ChoiceField(choices=RoleChoice.choices)
    comment = serializers.CharField(max_length=4000, required=False, allow_blank=True, default="")


class WordSerializer(serializers.Serializer[Any]):
    """A recorded decision or second review."""

    id = serializers.IntegerField()
    role = serializers.ChoiceField(choices=RoleChoice.choices, allow_null=True)
    comment = serializers.CharField()
    created_at = serializers.DateTimeField()


class CandidateThenSerializer(serializers.Serializer[Any]):
    """A candidate's role at a given time, and now."""

    candidate_id = serializers.CharField(source="candidate.candidate_id")
    machine_role = serializers.CharField(allow_null=True)
    role = serializers.CharField(allow_null=True)
    role_now = serializers.CharField(allow_null=True)
    review = serializers.IntegerField(source="decision.pk", default=None, allow_null=True)


class RunThenSerializer(serializers.Serializer[Any]):
    """A run at a given time."""

    at = serializers.DateTimeField()
    existed = serializers.BooleanField()
    state = serializers.CharField()
    review_state = serializers.CharField()
    candidates = CandidateThenSerializer(many=True)
    answer_version = serializers.IntegerField(source="answer.version", default=None, allow_null=True)
    signature = serializers.IntegerField(source="signature.pk", default=None, allow_null=True)
