"""Judgments of people and models on question-passage pairs: every one on record, none ever changed.

``Label``, ``LabelRetraction``, ``LabelImport``, ``GuidelineVersion`` and ``QuestionPlace`` are append-only: triggers
refuse UPDATE, DELETE and TRUNCATE (``protection.py``). A label names its passage by place and hash and holds no
document text, so that a deleted document's text is gone while the judgment stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from workbench.accounts.permissions import OfCollectionQuerySet, Permission, member_condition
from workbench.checklists.models import QuestionSet
from workbench.documents.models import Collection, Document, readable
from workbench.documents.restrictions import open_to
from workbench.review.models import Review
from workbench.runs.models import Candidate, RoleChoice

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: Roles that are evidence (label 1); the others are none (label 0).
EVIDENCE_ROLES = (RoleChoice.PRIMARY, RoleChoice.SUPPORTING)


class SourceChoice(models.TextChoices):
    """Where a judgment comes from; the authority of each is that of ``training.labels.LabelSource``."""

    ADJUDICATED = "adjudicated", _("adjudicated")
    OVERRIDE = "override", _("override")
    APPROVE = "approve", _("approval")
    ANNOTATOR = "annotator", _("annotator")
    LLM = "llm", _("language model")


class GuidelineVersion(models.Model):
    """What annotators of a collection are asked to go by. A change is a new version; labels name theirs."""

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="guidelines")
    number = models.PositiveIntegerField()
    body = models.TextField(_("guidelines"))
    written_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "number"], name="guideline_number_once"),
            models.CheckConstraint(condition=~Q(body=""), name="guidelines_say_something"),
        ]

    def __str__(self) -> str:
        return str(self.number)


class LabelImport(models.Model):
    """One file of labels that was taken in. The same file is taken in once."""

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="label_imports")
    file_name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    source = models.CharField(max_length=12, choices=SourceChoice.choices)
    # A labelled set made by people without sight of any machine's verdict: it may stand in the gold holdout.
    is_gold = models.BooleanField(default=False)
    rows_read = models.PositiveIntegerField()
    labels_made = models.PositiveIntegerField()
    imported_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "sha256", "source"], name="file_imported_once"),
            models.CheckConstraint(
                condition=Q(source__in=[SourceChoice.ANNOTATOR, SourceChoice.LLM]),
                name="import_of_annotators_or_model",
            ),
            models.CheckConstraint(
                condition=Q(is_gold=False) | Q(source=SourceChoice.ANNOTATOR), name="gold_is_human"
            ),
        ]

    def __str__(self) -> str:
        return self.file_name


class LabelQuerySet(models.QuerySet["Label"]):
    def visible_to(self, user: User, permission: Permission = Permission.VIEW) -> LabelQuerySet:
        """Those in collections where the user holds the permission, of documents that are open to the user."""
        return self.filter(member_condition(user, permission, prefix="collection"), open_to(user, "document"))

    def standing(self) -> LabelQuerySet:
        """Without those that were taken back."""
        return self.filter(retraction__isnull=True)


class Label(models.Model):
    """One judgment of one question-passage pair.

    The pair is ``question_hash`` (the question's words, ``question_groups.question_hash``) and ``passage_key``
    (document version, scope and text hash). ``candidate`` is the candidate that was judged, where there is one. A
    person, or the name of a model or of an outside annotator, stands behind it, never both.
    """

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="labels")
    question = models.TextField()
    question_hash = models.CharField(max_length=16)
    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="labels")
    page_start = models.PositiveIntegerField()
    line_start = models.PositiveIntegerField()
    page_end = models.PositiveIntegerField()
    line_end = models.PositiveIntegerField()
    text_hash = models.CharField(max_length=64)
    candidate = models.ForeignKey(
        Candidate, on_delete=models.PROTECT, null=True, blank=True, related_name="labels"
    )
    role = models.CharField(max_length=12, choices=RoleChoice.choices)
    binary_label = models.PositiveSmallIntegerField()
    source = models.CharField(max_length=12, choices=SourceChoice.choices)
    weight = models.FloatField()
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="labels"
    )
    judge_name = models.CharField(max_length=200, blank=True)
    guideline = models.ForeignKey(
        GuidelineVersion, on_delete=models.PROTECT, null=True, blank=True, related_name="labels"
    )
    seconds = models.FloatField(null=True, blank=True)
    # Whether the machine's verdict was hidden until the judgment was given.
    blind = models.BooleanField(default=False)
    # The chance with which the draw of blind cards took it; null where nothing was drawn.
    blind_chance = models.FloatField(null=True, blank=True)
    comment = models.TextField(blank=True)
    review = models.OneToOneField(
        Review, on_delete=models.PROTECT, null=True, blank=True, related_name="label"
    )
    label_import = models.ForeignKey(
        LabelImport, on_delete=models.PROTECT, null=True, blank=True, related_name="labels"
    )
    created_at = models.DateTimeField(db_default=Now())

    objects = LabelQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(role__in=EVIDENCE_ROLES, binary_label=1)
                | Q(role__in=[RoleChoice.TANGENTIAL, RoleChoice.DISCARDED], binary_label=0),
                name="binary_label_follows_the_role",
            ),
            models.CheckConstraint(condition=Q(source__in=SourceChoice.values), name="label_source_is_known"),
            models.CheckConstraint(
                condition=Q(weight__gt=0, weight__lte=1), name="label_weight_in_unit_interval"
            ),
            models.CheckConstraint(
                condition=Q(person__isnull=False, judge_name="")
                | (Q(person__isnull=True) & ~Q(judge_name="")),
                name="label_has_one_judge",
            ),
            models.CheckConstraint(
                condition=Q(source=SourceChoice.LLM, person__isnull=True)
                | Q(source=SourceChoice.ANNOTATOR)
                | (~Q(source=SourceChoice.LLM) & Q(person__isnull=False)),
                name="models_are_no_people",
            ),
            models.CheckConstraint(
                condition=Q(
                    source__in=[SourceChoice.APPROVE, SourceChoice.OVERRIDE],
                    review__isnull=False,
                    candidate__isnull=False,
                )
                | (~Q(source__in=[SourceChoice.APPROVE, SourceChoice.OVERRIDE]) & Q(review__isnull=True)),
                name="reviewers_label_by_reviewing",
            ),
            models.CheckConstraint(
                condition=~Q(source=SourceChoice.LLM) | Q(blind=False), name="models_are_not_blind"
            ),
            models.CheckConstraint(
                condition=Q(blind_chance__isnull=True)
                | Q(blind=True, blind_chance__gt=0, blind_chance__lte=1),
                name="drawn_label_is_blind",
            ),
            models.CheckConstraint(
                condition=Q(seconds__isnull=True) | Q(seconds__gte=0), name="label_seconds_not_negative"
            ),
            models.CheckConstraint(
                condition=Q(page_end__gt=F("page_start"))
                | Q(page_end=F("page_start"), line_end__gte=F("line_start")),
                name="label_scope_in_order",
            ),
            models.UniqueConstraint(
                fields=["candidate"],
                condition=Q(source=SourceChoice.LLM, label_import__isnull=True),
                name="one_model_label_per_candidate",
            ),
        ]
        indexes = [
            models.Index(fields=["collection", "question_hash", "text_hash"], name="labels_of_a_pair"),
            models.Index(fields=["person", "-id"], name="labels_of_a_person"),
            models.Index(fields=["collection", "source", "id"], name="labels_by_source"),
        ]

    def __str__(self) -> str:
        return f"{self.pk} {self.role} ({self.source})"

    @property
    def passage_key(self) -> str:
        """Document version, scope and text in one name."""
        return passage_key(
            document_id=self.document_id,
            scope=(self.page_start, self.line_start, self.page_end, self.line_end),
            text_hash=self.text_hash,
        )

    @property
    def judge(self) -> str:
        """Who judged, in one name that no two judges share."""
        return f"person:{self.person_id}" if self.person_id else f"{self.source}:{self.judge_name}"


def passage_key(*, document_id: int, scope: tuple[int, int, int, int], text_hash: str) -> str:
    """The name of a passage; ``scope`` is first page and line, last page and line."""
    page_start, line_start, page_end, line_end = scope
    return f"d{document_id}:p{page_start}_l{line_start}_p{page_end}_l{line_end}:{text_hash[:16]}"


class LabelRetraction(models.Model):
    """A label taken back by whoever gave it: an undo, or a decision withdrawn. The label itself stays on record."""

    label = models.OneToOneField(Label, on_delete=models.PROTECT, related_name="retraction")
    retracted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.CharField(max_length=40)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(reason=""), name="retraction_says_why")]


class QuestionPlace(models.Model):
    """The order in which questions were first taken in, over the whole installation.

    On which side of the holdout a question stands follows from that order (``training.snapshot.QuestionSides``);
    the order never changes, so neither does the side.
    """

    question_hash = models.CharField(max_length=16, unique=True)
    text = models.TextField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]


# --- the workbench ----------------------------------------------------------------------------------


class Project(models.Model):
    """A stock of question-passage pairs that annotators work through, and how it is dealt out. Shares are in [0, 1]."""

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="label_projects")
    name = models.CharField(_("name"), max_length=160)
    # Of the pairs given to a person: drawn at random, and known answers; of all pairs: shown to two people.
    random_share = models.FloatField(_("random share"), default=0.2)
    gold_share = models.FloatField(_("share of pairs with a known answer"), default=0.05)
    double_share = models.FloatField(_("share shown to two people"), default=0.15)
    # Beat adds pairs from finished runs until so many wait; 0 leaves that to people.
    keep_waiting = models.PositiveIntegerField(_("pairs kept waiting"), default=0)
    is_open = models.BooleanField(default=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    objects = OfCollectionQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "name"], name="project_name_once"),
            *(
                models.CheckConstraint(
                    condition=Q(**{f"{name}__gte": 0, f"{name}__lte": 1}), name=f"{name}_in_unit_interval"
                )
                for name in ("random_share", "gold_share", "double_share")
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("labeling:project", args=[self.pk])


class PairOrigin(models.TextChoices):
    RUN = "run", _("a run")
    DISCARDED = "discarded", _("a sample of discarded candidates")
    IMPORT = "import", _("an imported file")


class PairState(models.TextChoices):
    OPEN = "open", _("open")
    DISPUTED = "disputed", _("people disagree")
    UNCLEAR = "unclear", _("nobody can tell")
    SETTLED = "settled", _("settled")
    SET_ASIDE = "set_aside", _("set aside")


#: Pairs that wait for an adjudicator.
TO_ADJUDICATE = (PairState.DISPUTED, PairState.UNCLEAR)


class PairQuerySet(models.QuerySet["Pair"]):
    def visible_to(self, user: User, permission: Permission) -> PairQuerySet:
        """Those in collections where the user holds the permission, of documents that are open to the user and not
        deleted: whoever gets a pair reads its text."""
        member = member_condition(user, permission, prefix="collection")
        return self.filter(member, open_to(user, "document"), readable("document"))


class Pair(models.Model):
    """A question and a passage, once in a collection whatever the project. Its text is read from the document."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="pairs")
    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="label_pairs")
    question = models.TextField()
    question_hash = models.CharField(max_length=16)
    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="label_pairs")
    page_start = models.PositiveIntegerField()
    line_start = models.PositiveIntegerField()
    page_end = models.PositiveIntegerField()
    line_end = models.PositiveIntegerField()
    text_hash = models.CharField(max_length=64)
    candidate = models.ForeignKey(
        Candidate, on_delete=models.PROTECT, null=True, blank=True, related_name="label_pairs"
    )
    origin = models.CharField(max_length=12, choices=PairOrigin.choices)
    state = models.CharField(max_length=12, choices=PairState.choices, default=PairState.OPEN)
    is_holdout = models.BooleanField(default=False)
    # The known answer: such a pair is shown to everybody, to see how well they follow the guidelines.
    gold_role = models.CharField(max_length=12, choices=RoleChoice.choices, null=True, blank=True)
    # Uncertainty and disagreement of the machine, in [0, 1]; ``shuffle`` is a random place in [0, 1).
    priority = models.FloatField(default=0)
    shuffle = models.FloatField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    objects = PairQuerySet.as_manager()

    class Meta:
        ordering = ["-priority", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "collection", "question_hash", "document", "page_start", "line_start", "page_end", "line_end"
                ],
                name="pair_once_per_collection",
            ),
            models.CheckConstraint(condition=Q(state__in=PairState.values), name="pair_state_is_known"),
            models.CheckConstraint(condition=Q(origin__in=PairOrigin.values), name="pair_origin_is_known"),
        ]  # fmt: skip
        indexes = [
            models.Index(fields=["project", "-priority", "id"], name="pairs_by_priority"),
            models.Index(fields=["collection", "state"], name="pairs_by_state"),
        ]

    @property
    def scope(self) -> tuple[int, int, int, int]:
        """First page and line, last page and line."""
        return (self.page_start, self.line_start, self.page_end, self.line_end)


class SlotState(models.TextChoices):
    WAITING = "waiting", _("waiting")
    HELD = "held", _("being labelled")
    LABELLED = "labelled", _("labelled")


class SlotQuerySet(models.QuerySet["Slot"]):
    def visible_to(self, user: User, permission: Permission) -> SlotQuerySet:
        """Those of pairs that the user sees with the permission (:class:`PairQuerySet`)."""
        member = member_condition(user, permission, prefix="pair__collection")
        return self.filter(member, open_to(user, "pair__document"), readable("pair__document"))


class Slot(models.Model):
    """A place for one person's label of a pair.

    A pair has one place, a double-coded pair two: that nobody else gets a pair follows from ``number`` being unique,
    and that nobody gets it twice from ``person`` being unique. A check (``is_check``) is a place of its own for the
    known answer; what is given there is compared and is no label.
    """

    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="slots")
    number = models.PositiveSmallIntegerField(null=True, blank=True)
    is_check = models.BooleanField(default=False)
    state = models.CharField(max_length=12, choices=SlotState.choices, default=SlotState.WAITING)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    held_until = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    role = models.CharField(max_length=12, choices=RoleChoice.choices, null=True, blank=True)
    label = models.OneToOneField(Label, on_delete=models.PROTECT, null=True, blank=True, related_name="slot")
    decided_at = models.DateTimeField(null=True, blank=True)

    objects = SlotQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["pair", "number"], name="one_person_per_place"),
            models.UniqueConstraint(fields=["pair", "person"], name="one_place_per_person"),
            models.CheckConstraint(
                condition=Q(is_check=True, number__isnull=True) | Q(is_check=False, number__in=[1, 2]),
                name="a_pair_has_two_places_at_most",
            ),
            models.CheckConstraint(
                condition=Q(state=SlotState.WAITING, person__isnull=True, role__isnull=True)
                | Q(state=SlotState.HELD, person__isnull=False, held_until__isnull=False, role__isnull=True)
                | Q(
                    state=SlotState.LABELLED,
                    person__isnull=False,
                    role__isnull=False,
                    decided_at__isnull=False,
                ),
                name="slot_state_fits",
            ),
            models.CheckConstraint(
                condition=Q(is_check=True, label__isnull=True)
                | Q(is_check=False, state=SlotState.LABELLED, label__isnull=False)
                | (Q(is_check=False, label__isnull=True) & ~Q(state=SlotState.LABELLED)),
                name="labelled_slot_has_its_label",
            ),
        ]
        indexes = [
            models.Index(fields=["pair"], condition=~Q(state="labelled"), name="slots_to_fill"),
            models.Index(fields=["person", "-decided_at"], name="slots_of_a_person"),
        ]


class PassKind(models.TextChoices):
    UNSURE = "unsure", _("can't tell")
    LATER = "later", _("later")


class Pass(models.Model):
    """A person passed a pair over: one they can't tell never comes back to them, one for later comes last."""

    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="passes")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=12, choices=PassKind.choices)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["pair", "person"], name="one_pass_per_person"),
            models.CheckConstraint(condition=Q(kind__in=PassKind.values), name="pass_kind_is_known"),
        ]


class Outcome(models.TextChoices):
    FIRST = "first", _("the first is right")
    SECOND = "second", _("the second is right")
    BOTH_WRONG = "both_wrong", _("both are wrong")
    ALONE = "alone", _("decided where the annotators could not tell")


class Adjudication(models.Model):
    """A third person's word on a pair that two people judged differently, or that nobody could tell."""

    pair = models.OneToOneField(Pair, on_delete=models.PROTECT, related_name="adjudication")
    label = models.OneToOneField(Label, on_delete=models.PROTECT, related_name="adjudication")
    outcome = models.CharField(max_length=12, choices=Outcome.choices)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(outcome__in=Outcome.values), name="outcome_is_known"),
        ]


class ElusionSample(models.Model):
    """A random sample of discarded candidates, to see how much evidence was missed (an elusion test).

    ``population`` is the number of different discarded question-passage pairs it was drawn from.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="elusion_samples")
    question_set = models.ForeignKey(
        QuestionSet, on_delete=models.PROTECT, null=True, blank=True, related_name="elusion_samples"
    )
    population = models.PositiveIntegerField()
    drawn_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    pairs = models.ManyToManyField(Pair, related_name="elusion_samples")

    class Meta:
        ordering = ["-id"]
