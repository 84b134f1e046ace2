"""Questions, runs, candidates, verdicts and the ledger of model calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from workbench.accounts.permissions import Permission, member_condition
from workbench.documents.models import Collection, Document
from workbench.documents.narrowing import ScopeFilter, filter_words
from workbench.documents.restrictions import open_to
from workbench.errors import WorkbenchError
from workbench.infra.leases import Retried

from .restrictions import runs_open_to

if TYPE_CHECKING:
    from workbench.accounts.models import User


class RoleChoice(models.TextChoices):
    PRIMARY = "primary", _("primary")
    SUPPORTING = "supporting", _("supporting")
    TANGENTIAL = "tangential", _("tangential")
    DISCARDED = "discarded", _("discarded")


def require_role(role: str) -> None:
    """Raises :class:`WorkbenchError` for what is none of the four roles."""
    if role not in RoleChoice.values:
        raise WorkbenchError(gettext("Choose one of the four roles."), code="role_unknown")


def demands_decision(*, role: str | None, needs_person: bool) -> bool:
    """Whether a verdict with this role must be decided by a person before the run can be signed."""
    return needs_person or role in (RoleChoice.PRIMARY, RoleChoice.SUPPORTING)


class Question(models.Model):
    """A question as it was asked, of one document or of a whole collection."""

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="questions")
    document = models.ForeignKey(
        Document, on_delete=models.PROTECT, null=True, blank=True, related_name="questions"
    )
    # For a whole collection: which documents to ask (``documents.narrowing.ScopeFilter``); null: all.
    filters = models.JSONField(null=True, blank=True)
    text = models.TextField(_("question"))
    normalised = models.TextField()
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="questions")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["collection", "normalised"])]

    def __str__(self) -> str:
        return self.text

    @property
    def narrowed_to(self) -> str:
        """The values of the question's filters, for pages and reports. Empty without filters."""
        return ", ".join(filter_words(ScopeFilter.model_validate(self.filters))) if self.filters else ""

    @property
    def documents_named(self) -> list[Document]:
        """The documents that the question names. One query if there are any."""
        keys = (self.filters or {}).get("documents", [])
        return list(Document.objects.filter(pk__in=keys).order_by("title", "name", "pk")) if keys else []

    @property
    def facts_named(self) -> str:
        """The filters of the question apart from named documents."""
        facts = {**(self.filters or {}), "documents": []}
        return ", ".join(filter_words(ScopeFilter.model_validate(facts)))

    @property
    def asked_of(self) -> str:
        """The names of the documents asked, or the collection with its filters."""
        if self.document is not None:
            return str(self.document)
        if named := self.documents_named:
            names = ", ".join(map(str, named))
            return f"{names} ({self.facts_named})" if self.facts_named else names
        whole = gettext("the whole collection")
        return f"{whole} ({self.narrowed_to})" if self.filters else whole


class RunStatus(models.TextChoices):
    """The status of a run. The last three are final."""

    QUEUED = "queued", _("waiting to start")
    DETECTING = "detecting", _("finding passages")
    DETECTED = "detected", _("passages found")
    ARBITRATING = "arbitrating", _("judging passages")
    ARBITRATED = "arbitrated", _("passages judged")
    ANSWERING = "answering", _("writing the answer")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


ENDED = (RunStatus.DONE, RunStatus.FAILED, RunStatus.CANCELLED)
UNENDED = tuple(status for status in RunStatus if status not in ENDED)


class ReviewState(models.TextChoices):
    """The review progress of a finished run."""

    OPEN = "open", _("open")
    IN_REVIEW = "in_review", _("in review")
    SIGNED = "signed", _("signed")


class RunQuerySet(models.QuerySet["Run"]):
    def visible_to(self, user: User, permission: Permission = Permission.VIEW) -> RunQuerySet:
        """Rows in collections where the user has the permission, except those based on a document restricted to
        others."""
        return self.filter(member_condition(user, permission, prefix="collection"), runs_open_to(user))


class Run(Retried):
    """One question answered once by one strategy, on the documents as they were then."""

    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="runs")
    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="runs")
    strategy = models.CharField(max_length=40)
    status = models.CharField(max_length=12, choices=RunStatus.choices, default=RunStatus.QUEUED)
    review_state = models.CharField(max_length=12, choices=ReviewState.choices, default=ReviewState.OPEN)
    text_changed_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When a new version first changed the text that the run was signed on; null while it stands.",
    )
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    settings = models.JSONField(default=dict)
    cache_key = models.CharField(max_length=64, blank=True, db_index=True)
    use_cache = models.BooleanField(default=True)
    cached_from = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="+")
    # In the database, the foreign key includes the collection (migration 0016).
    follows = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="followed_by",
        db_index=False,
        db_constraint=False,
        help_text="The run whose question this one follows up, of the same collection.",
    )
    idempotency_key = models.CharField(max_length=80, null=True, blank=True)
    stages = models.JSONField(default=list)  # [{stage, ms, detail, ended_at}] in order, for the page
    question_edits = models.JSONField(null=True, blank=True, help_text="A person's keywords for this run.")
    rubric_edits = models.JSONField(null=True, blank=True, help_text="A person's criteria for this run.")
    strategy_options = models.JSONField(
        null=True, blank=True, help_text="The strategy's own settings for this run."
    )
    parsed_question = models.JSONField(null=True)
    methods_run = models.JSONField(default=list)
    methods_skipped = models.JSONField(default=list)
    skipped_reasons = models.JSONField(default=dict)
    conflicts = models.JSONField(default=list)
    unknown_ids = models.JSONField(default=list)
    repeated_ids = models.JSONField(default=list)
    notes = models.JSONField(default=list)
    artefacts = models.JSONField(
        default=dict, blank=True
    )  # intermediate results of the strategy, such as a rubric
    not_found = models.BooleanField(null=True)
    not_found_reason = models.TextField(blank=True)
    # Only the nearest passages are kept. A person decides whether they answer.
    no_strong_match = models.BooleanField(default=False, db_default=False)
    confidence = models.FloatField(null=True)
    needs_person = models.BooleanField(default=False)
    failure_reason = models.TextField(blank=True)
    llm_call_count = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    # Calls of models without a price. The cost is at least the value above.
    unpriced_call_count = models.PositiveIntegerField(default=0, db_default=0)
    elapsed_ms = models.FloatField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(status__in=RunStatus.values), name="run_status_is_known"),
            models.CheckConstraint(
                condition=Q(confidence__isnull=True) | Q(confidence__gte=0, confidence__lte=1),
                name="confidence_is_a_probability",
            ),
            models.CheckConstraint(
                condition=~Q(not_found=True) | ~Q(not_found_reason=""), name="not_found_says_why"
            ),
            models.CheckConstraint(
                condition=~Q(status=RunStatus.FAILED) | ~Q(failure_reason=""), name="failed_run_says_why"
            ),
            models.UniqueConstraint(
                fields=["requested_by", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
                name="one_run_per_idempotency_key",
            ),
            models.UniqueConstraint(fields=["id", "collection"], name="run_in_its_collection"),
        ]
        indexes = [
            models.Index(fields=["follows"], condition=Q(follows__isnull=False), name="run_follows"),
            models.Index(fields=["collection", "-id"]),
            models.Index(fields=["status", "lease_until"]),
        ]

    def __str__(self) -> str:
        return f"run {self.pk} ({self.strategy})"

    def get_absolute_url(self) -> str:
        return reverse("questions:run", args=[self.pk])

    @property
    def review_words(self) -> str:
        """The review state in words, and whether the text has changed since signing."""
        if self.review_state == ReviewState.SIGNED and self.text_changed_at is not None:
            return gettext("signed; text changed since")
        return str(self.get_review_state_display())

    @property
    def is_ended(self) -> bool:
        return self.status in ENDED


class RunPool(models.Model):
    """The engine's serialised candidate pool between detection and arbitration. Contains document text."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="pool", primary_key=True)
    body = models.JSONField()


class Candidate(models.Model):
    """A passage that a detector or a person proposed as evidence in a run."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="candidates")
    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="candidates")
    candidate_id = models.CharField(max_length=80)
    position = models.PositiveIntegerField(help_text="Place in the pool, by logged RRF rank.")
    anchor_page_start = models.PositiveIntegerField()
    anchor_line_start = models.PositiveIntegerField()
    anchor_page_end = models.PositiveIntegerField()
    anchor_line_end = models.PositiveIntegerField()
    context_page_start = models.PositiveIntegerField()
    context_line_start = models.PositiveIntegerField()
    context_page_end = models.PositiveIntegerField()
    context_line_end = models.PositiveIntegerField()
    section_id = models.CharField(max_length=16, blank=True)
    section_title = models.TextField(blank=True)
    breadcrumb = models.TextField(blank=True)
    methods = models.JSONField(default=list)
    ranks = models.JSONField(default=dict)
    scores = models.JSONField(default=dict)
    whys = models.JSONField(default=dict)
    matched_keywords = models.JSONField(default=list)
    rrf_score = models.FloatField(null=True)
    rrf_rank = models.PositiveIntegerField(null=True)
    features = models.JSONField(null=True)
    text_hash = models.CharField(max_length=64)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["run", "candidate_id"], name="candidate_once_per_run")]

    def get_absolute_url(self) -> str:
        """The address of the card on the page of its run. The query names the card too, so that the page does not load
        it lazily: a fragment never reaches the server, and without scripts nothing would fetch the card."""
        name = dom_id_of(self.candidate_id)
        return f"{reverse('questions:run', args=[self.run_id])}?card={name}#{name}"

    @property
    def scope(self) -> dict[str, int]:
        """The lines of the evidence. ``places`` turns them into words."""
        ends = ("page_start", "line_start", "page_end", "line_end")
        return {name: getattr(self, f"anchor_{name}") for name in ends}


def dom_id_of(candidate_id: str) -> str:
    """The HTML id of a candidate's card."""
    return "c-" + candidate_id.replace(":", "-")


class CandidateText(models.Model):
    """The text of a candidate. It is separate from the candidate, so that deleting a document can erase it."""

    candidate = models.OneToOneField(
        Candidate, on_delete=models.CASCADE, related_name="text", primary_key=True
    )
    snippet = models.TextField()
    anchor = models.TextField()
    context = models.TextField()
    #: Which word of the question met which of the passage: :class:`arbitration.pool.WordMatch`, the record of late
    #: interaction.
    matched_words = models.JSONField(
        default=list, db_default=models.Value([], models.JSONField()), blank=True
    )


class Verdict(models.Model):
    """The machine's verdict on a candidate. Written once, never changed. People's decisions are stored elsewhere."""

    candidate = models.OneToOneField(
        Candidate, on_delete=models.CASCADE, related_name="verdict", primary_key=True
    )
    role = models.CharField(max_length=12, choices=RoleChoice.choices, null=True)
    reason = models.TextField()
    decided_by_kind = models.CharField(max_length=12)
    decided_by_name = models.CharField(max_length=120)
    decided_by_version = models.CharField(max_length=80, blank=True)
    probability = models.FloatField(null=True)
    model_confidence = models.FloatField(null=True, help_text="As the language model says; not calibrated.")
    raw_score = models.FloatField(null=True)
    score_scale = models.CharField(max_length=40, blank=True)
    normalised_score = models.FloatField(null=True)
    terms = models.JSONField(default=dict, blank=True)  # the parts of a composite score, by name
    needs_person = models.BooleanField(default=False)
    needs_person_reasons = models.JSONField(default=list)
    injection_suspected = models.BooleanField(default=False)
    #: Document text: the words that suggest a prompt injection.
    injection_words = models.JSONField(
        default=list, db_default=models.Value([], models.JSONField()), blank=True
    )
    quotes = models.JSONField(default=list)
    counter_argument = models.TextField(blank=True)
    order = models.PositiveIntegerField(help_text="Place in the ranked list: survivors first.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(role__isnull=True) | Q(role__in=RoleChoice.values), name="verdict_role_is_known"
            ),
            models.CheckConstraint(
                condition=Q(role__isnull=False) | Q(needs_person=True), name="undecided_goes_to_a_person"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="verdict_has_a_reason"),
            models.CheckConstraint(
                condition=Q(probability__isnull=True) | Q(probability__gte=0, probability__lte=1),
                name="probability_in_unit_interval",
            ),
            models.CheckConstraint(
                condition=Q(model_confidence__isnull=True)
                | Q(model_confidence__gte=0, model_confidence__lte=1),
                name="model_confidence_in_unit_interval",
            ),
        ]


class Answer(models.Model):
    """An answer written from the evidence at that time. Regenerating adds a version."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="answers")
    version = models.PositiveIntegerField()
    body = models.JSONField()  # sentences with citations; holds document text
    evidence_hash = models.CharField(max_length=64)
    is_stale = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["version"]
        constraints = [models.UniqueConstraint(fields=["run", "version"], name="answer_version_once")]


class LLMCall(models.Model):
    """The ledger of model calls: one row per attempt, including failures."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, null=True, related_name="llm_calls")
    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, null=True, related_name="+")
    stage = models.CharField(max_length=24)
    endpoint = models.CharField(max_length=200)
    model = models.CharField(max_length=120)
    prompt_name = models.CharField(max_length=80)
    prompt_version = models.CharField(max_length=24)
    prompt_hash = models.CharField(max_length=64)
    parameters = models.JSONField(default=dict)
    request_hash = models.CharField(max_length=64, db_index=True)
    attempt = models.PositiveSmallIntegerField()
    outcome = models.CharField(max_length=24)
    input_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    # False: the model had no price, and the cost of 0 means unknown.
    is_priced = models.BooleanField(default=True, db_default=True)
    latency_ms = models.FloatField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(is_priced=True) | Q(cost=0), name="unknown_cost_is_no_amount"),
            models.CheckConstraint(
                condition=Q(cached_tokens__lte=F("input_tokens")), name="cached_within_input"
            ),
        ]
        # The month's costs are summed before every call, from the index alone.
        indexes = [models.Index(fields=["created_at"], include=["cost"], name="llmcall_by_time")]


class LLMCallBody(models.Model):
    """Prompt and answer of a call. Contains document text, so it can be erased separately from the ledger."""

    call = models.OneToOneField(LLMCall, on_delete=models.CASCADE, related_name="body", primary_key=True)
    request = models.JSONField()
    response = models.JSONField(null=True)


class LLMEndpoint(models.Model):
    """The capabilities of an endpoint, as found by a probe. The API key stays in the environment."""

    name = models.CharField(max_length=80, unique=True)
    base_url = models.URLField(max_length=300)
    model = models.CharField(max_length=120)
    capabilities = models.JSONField(default=dict)
    probed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["base_url", "model"], name="endpoint_once")]


class ModelPrice(models.Model):
    """The price of a model, in USD per million tokens, set by administrators of the installation. A model without a row
    has an unknown price."""

    model = models.CharField(max_length=120, unique=True)
    input = models.DecimalField(max_digits=12, decimal_places=6)
    cached_input = models.DecimalField(max_digits=12, decimal_places=6)
    output = models.DecimalField(max_digits=12, decimal_places=6)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["model"]
        constraints = [
            models.CheckConstraint(
                condition=Q(input__gte=0, cached_input__gte=0, output__gte=0), name="price_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return self.model


class LLMControl(models.Model):
    """The stop switch and the budgets of the installation: exactly one row. Amounts in USD; null = no limit."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    is_stopped = models.BooleanField(default=False)
    stop_reason = models.TextField(blank=True)
    run_budget = models.DecimalField(max_digits=12, decimal_places=4, null=True, default=5)
    month_budget = models.DecimalField(max_digits=12, decimal_places=4, null=True, default=500)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="one_llm_control"),
            models.CheckConstraint(condition=Q(is_stopped=False) | ~Q(stop_reason=""), name="stop_says_why"),
        ]


class LLMReply(models.Model):
    """A cached answer for an equal request in the same collection. Contains document text, so it can be erased."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="+")
    request_hash = models.CharField(max_length=64)
    reply = models.JSONField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["collection", "request_hash"], name="reply_once")]


class EvaluationRun(models.Model):
    """One evaluation of strategies on a labelled set, kept so that releases can be compared."""

    dataset = models.CharField(max_length=80)
    options = models.JSONField(default=dict)  # limit, seed, trained_on, cross_fit, revision of the code
    report = models.JSONField()  # as printed by ``manage.py evaluate --json``
    seconds = models.FloatField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.dataset}, {date_format(self.created_at, 'DATETIME_FORMAT')}"


class ComparisonQuerySet(models.QuerySet["Comparison"]):
    def visible_to(self, user: User, permission: Permission = Permission.VIEW) -> ComparisonQuerySet:
        """Comparisons in collections where the user has the permission, if all their runs are visible to the user."""
        hidden = Run.objects.filter(~runs_open_to(user))
        return self.filter(
            member_condition(user, permission, prefix="collection"),
            open_to(user, "document"),
            ~Q(runs__in=hidden.order_by().values("pk")),
        )


class Comparison(models.Model):
    """One question run with several strategies, side by side."""

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="comparisons")
    document = models.ForeignKey(Document, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    text = models.TextField(_("question"))
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    runs = models.ManyToManyField(Run, related_name="comparisons")
    created_at = models.DateTimeField(db_default=Now())

    objects = ComparisonQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.text

    def get_absolute_url(self) -> str:
        return reverse("questions:comparison", args=[self.pk])
