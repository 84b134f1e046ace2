"""What else happens in the demo's month: settings, checklists, labels, trainings, measurements, files."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from io import StringIO
from ipaddress import ip_network
from pathlib import Path

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.utils import timezone

from training.bars import Decides
from training.fitting import TrainingConfig
from workbench.accounts.models import MemberRole
from workbench.api.tokens import token_create
from workbench.archives.models import Transfer
from workbench.archives.transfers import archive_request, archive_upload
from workbench.checklists.models import QuestionSet
from workbench.checklists.services import question_set_create, round_start, rounds_finish
from workbench.collection_settings.bars import bar_request
from workbench.documents.describing import document_describe
from workbench.documents.fields import field_add
from workbench.documents.intake import Waiting, documents_await
from workbench.documents.models import Collection, Document, Passage
from workbench.documents.services import collection_create, document_upload
from workbench.exports.services import period_export, run_export
from workbench.labeling.adjudication import disputes, pair_adjudicate
from workbench.labeling.models import Project
from workbench.labeling.projects import guideline_write, project_create
from workbench.labeling.supply import elusion_draw, pairs_add_from_runs
from workbench.labeling.transfer import labels_import
from workbench.labeling.work import slot_answer, slot_claim_next
from workbench.people.services import membership_grant
from workbench.rerankers.services import schedule_change, training_claimed_here
from workbench.rerankers.trainings import run_training
from workbench.review.comparison import comparison_start
from workbench.review.filters import QueueFilter
from workbench.review.notifications import wish_set
from workbench.review.policy import policy_set
from workbench.review.saved_views import view_save
from workbench.runs.models import Run
from workbench.runs.prices import price_set
from workbench.sources.services import source_create, source_pause
from workbench.synonyms.services import entry_add, entry_approve
from workbench.webhooks.services import webhook_create, webhook_pause

from ..control import budgets_change
from .grader import MODEL
from .month_questions import CLAIMS_MONTH, IN_CLIENTS_WORDS, MonthQuestion
from .people import DEMO_PEOPLE
from .review_acts import as_told
from .scene import CLAIMS, DEMO, Scene, lot

FOLDER = Path(__file__).resolve().parent / "claims"
_OWNER = "Owner"
_COVERS = {
    "claims-handling-manual.md": ("policy", date(2025, 2, 1), "Claims department"),
    "motor-policy-terms.md": ("contract", date(2025, 4, 1), "Underwriting"),
    "complaints-procedure.md": ("policy", date(2025, 1, 15), "Compliance"),
}


def second_collection(scene: Scene) -> None:
    """Claims: three documents with their owners, the same people, a share decided blind and a share decided by two."""
    admin = scene.person("admin")
    claims = Collection.objects.filter(slug=CLAIMS).first() or collection_create(
        actor=admin,
        slug=CLAIMS,
        name="Demo: Claims",
        description="How claims and complaints are handled. Cards are decided blind and by two here.",
    )
    for person in DEMO_PEOPLE:
        membership_grant(
            actor=admin, user=scene.person(person.email.split("@")[0]), collection=claims, role=person.role
        )
    membership_grant(actor=admin, user=admin, collection=claims, role=MemberRole.REVIEWER)  # settles disputes
    policy_set(actor=admin, collection=claims, blind_share=0.4, second_share=0.25)
    if not claims.fields.filter(name=_OWNER).exists():
        field_add(actor=admin, collection=claims, name=_OWNER)
    keys = []
    for name, (kind, effective, owner) in _COVERS.items():
        file = ContentFile((FOLDER / name).read_bytes(), name=name)
        made = document_upload(
            actor=scene.person("analyst"), collection=claims, file=file, name=name
        ).document
        document_describe(
            actor=admin,
            document=made,
            document_type=kind,
            issuer="Calder & Voss Mutual",
            jurisdiction="Aldmoor",
            effective_date=effective,
            tags=["claims"],
            fields={_OWNER: owner},
        )
        keys.append(made.pk)
    documents_await(document_ids=keys, waiting=Waiting())


def settings_made(scene: Scene) -> None:
    """A price for the stand-in, a budget, words that mean the same, mail wishes."""
    admin = scene.person("admin")
    price_set(
        actor=admin,
        model=MODEL,
        fresh=Decimal(4),
        cached=Decimal(1),
        output=Decimal(16),
        reason="The demo's price list.",
    )
    budgets_change(actor=admin, run_budget=Decimal(1), month_budget=Decimal(50), reason="Enough for a pilot.")
    claims = scene.collection(CLAIMS)
    approved = entry_add(actor=admin, collection=claims, term="excess", variant="deductible")
    if approved.status != "approved":
        entry_approve(actor=admin, entry=approved)
    entry_add(actor=scene.person("reviewer"), collection=claims, term="total loss", variant="write-off")
    for name in ("reviewer", "reviewer2"):
        wish_set(user=scene.person(name), email="daily")


def checklist_of(week: int) -> Callable[[Scene], None]:
    """A round of the checklist of every policy, most of it settled in the weeks before."""

    def act(scene: Scene) -> None:
        claims = scene.collection(CLAIMS)
        analyst = scene.person("analyst")
        known = QuestionSet.objects.filter(collection=claims, name="Every client document").first()
        checklist = known or question_set_create(
            actor=analyst,
            collection=claims,
            name="Every client document",
            questions=[
                "Within how many days is the client answered?",
                "How long are the files kept?",
                "Who approves larger sums?",
            ],
            description="Asked of each version of a client document.",
        )
        documents = list(Document.objects.ready().filter(collection=claims).order_by("name"))
        asked = round_start(
            actor=analyst,
            question_set=checklist,
            documents=documents[: week + 1],
            strategy="offline",
            due_on=(timezone.now() + timedelta(days=7)).date(),
        )
        rounds_finish()
        for run in Run.objects.filter(pk__in=asked.cells.values("run")).order_by("pk"):
            _decide_checklist(scene, run, share=(1.0, 0.7, 0.3)[week])

    return act


def _decide_checklist(scene: Scene, run: Run, *, share: float) -> None:
    """As a reviewer in a hurry: what the machine said, of a share of the runs."""
    if lot("checklist", run.question.text, run.question.document_id) >= share:
        return
    for by in ("reviewer2", "reviewer"):  # the second of them where two must agree
        for item in scene.waiting(run):
            as_told(scene, item, by=by)


def labelling(scene: Scene) -> None:
    """A project that two people work on, with a dispute settled, and a sample of what was discarded."""
    admin, claims = scene.person("admin"), scene.collection(CLAIMS)
    membership_grant(
        actor=admin, user=scene.person("reviewer2"), collection=claims, role=MemberRole.ANNOTATOR
    )
    project = project_create(
        actor=admin,
        project=Project(
            collection=claims,
            name="Claims and complaints",
            double_share=0.6,
            gold_share=0.1,
            random_share=0.2,
        ),
    )
    guideline_write(
        actor=admin,
        project=project,
        body="Primary carries the answer by itself.\n\nSupporting is needed to apply it.",
    )
    pairs_add_from_runs(actor=admin, project=project, limit=60)
    elusion_draw(actor=admin, project=project, size=12, seed=7)
    for name, strictness in (("annotator", 0.0), ("reviewer2", 0.25)):
        for _number in range(24):
            slot = slot_claim_next(actor=scene.person(name), project=project)
            if slot is None:
                break
            scene.clock.forward(20 + 40 * lot("slot", slot.pk))
            slot_answer(actor=scene.person(name), slot=slot, role=_role_of(slot.pair, name, strictness))
    waiting = list(disputes(user=scene.person("reviewer")))
    if waiting:
        pair_adjudicate(
            actor=scene.person("reviewer"), pair=waiting[0], role="supporting", comment="It applies the rule."
        )


def _role_of(pair: object, name: str, strictness: float) -> str:
    question = next((one for one in CLAIMS_MONTH if one.text == pair.question), None)
    truth = question.truth(_words_at(pair)) if question else "discarded"
    if lot("annotator", name, pair.pk) < strictness:
        return "tangential" if truth == "discarded" else "supporting"
    return truth


def _words_at(pair: object) -> str:
    passages = Passage.objects.filter(
        document=pair.document_id, page_start__lte=pair.page_start, page_end__gte=pair.page_start
    )
    near = [p for p in passages if p.line_start <= pair.line_end and p.line_end >= pair.line_start]
    return "\n".join(passage.text for passage in near)


def gold_of_another_office(scene: Scene) -> None:
    """A gold set on questions in clients' words, which no training reads."""
    _labels_taken_in(scene, "gold-in-clients-words.csv", IN_CLIENTS_WORDS[::2], is_gold=True)


def labels_of_another_office(scene: Scene) -> None:
    """Pairs of other such questions, to learn from."""
    _labels_taken_in(scene, "in-clients-words.csv", IN_CLIENTS_WORDS[1::2], is_gold=False)


def _labels_taken_in(scene: Scene, name: str, questions: Sequence[MonthQuestion], *, is_gold: bool) -> None:
    labels_import(
        actor=scene.person("admin"),
        collection=scene.collection(CLAIMS),
        content=_labels_csv(scene, questions),
        file_name=name,
        source="annotator",
        judge="Office Varnmoor",
        is_gold=is_gold,
    )


def _labels_csv(scene: Scene, questions: Sequence[MonthQuestion]) -> bytes:
    out = StringIO()
    writer = csv.writer(out)
    writer.writerow(["question", "document", "page", "line_from", "line_to", "role"])
    passages = list(
        Passage.objects.filter(document__collection__slug=CLAIMS).select_related("document").order_by("pk")
    )
    for question in questions:
        for passage in passages:
            role = question.truth(passage.text)
            if (
                role != "discarded"
                or lot("negative", question.text, passage.ordinal, passage.document.name) < 0.35
            ):
                writer.writerow(
                    [
                        question.text,
                        passage.document.name,
                        passage.page_start,
                        passage.line_start,
                        passage.line_end,
                        role,
                    ]
                )
    return out.getvalue().encode()


def training(scene: Scene) -> None:
    """A training as the schedule would start it; the gate decides by itself what becomes of it."""
    admin = scene.person("admin")
    # A pilot has little gold yet: its admin asks for less of it than ships.
    schedule_change(
        actor=admin, is_on=True, min_new_labels=50, min_positives=12, min_negatives=50, min_questions=12
    )
    run = training_claimed_here(actor=admin, config=TrainingConfig(members=1))
    run_training(run_id=run.pk)


def words_and_views(scene: Scene) -> None:
    """A saved view, a comparison of strategies, thresholds that the decisions speak for."""
    view_save(
        user=scene.person("reviewer"),
        name="Payments",
        filters=QueueFilter.of({"show": "all", "role": "primary"}),
    )
    comparison_start(
        actor=scene.person("analyst"),
        collection=scene.collection(CLAIMS),
        text=CLAIMS_MONTH[3].text,
        strategies=["offline", "bm25"],
    )
    for slug in (DEMO, CLAIMS):
        bar_request(
            actor=scene.person("admin"),
            collection=scene.collection(slug),
            decides=Decides.DISCARD,
            promised=0.15,
        )


def strategies_measured(scene: Scene) -> None:
    """Two strategies on questions of claims, judged by labels."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "labels"
        folder.mkdir()
        for file in FOLDER.glob("*.md"):
            (Path(name) / file.name).write_bytes(file.read_bytes())
        rows = [json.dumps(row) for row in _measured()]
        (folder / "labels.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
        call_command(
            "evaluate",
            str(folder),
            "--strategies",
            "offline,bm25",
            "--limit",
            "12",
            "--json",
            stdout=StringIO(),
        )


def _measured() -> Iterator[dict[str, object]]:
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*.md"))}
    for place, question in enumerate(CLAIMS_MONTH):
        for name, text in texts.items():
            found = [line for line in text.split("\n") if any(sign in line for sign in question.primary)]
            if found:
                yield {
                    "qid": f"{place}-{name}",
                    "set": "natural",
                    "unit": "text",
                    "question": question.text,
                    "answerable": True,
                    "doc": name,
                    "evidence": [{"anchor": line, "role": "primary"} for line in found],
                }
                break


def connections(scene: Scene) -> None:
    """A key for a program, a watched folder and a webhook; both at rest, since nobody is at their other end."""
    token_create(actor=scene.person("analyst"), name="Nightly questions", scopes=["view", "ask"], days=90)
    admin, claims = scene.person("admin"), scene.collection(CLAIMS)
    folder = Path(settings.WORKBENCH_HOME) / "demo-inbox"
    folder.mkdir(parents=True, exist_ok=True)
    with _allowing("SOURCE_FOLDERS", [folder.parent]):
        source = source_create(
            actor=admin,
            collection=claims,
            kind="folder",
            name="Scans of the post room",
            settings={"folder": str(folder)},
        )
        source_pause(actor=admin, source=source)
    with _allowing("WEBHOOK_NETWORKS", [ip_network("192.0.2.0/24")]):  # of documentation: it leads nowhere
        webhook, _secret = webhook_create(
            actor=admin,
            collection=claims,
            url="https://192.0.2.1/compliance",
            events=["run.finished", "run.signed"],
            description="The compliance desk's inbox",
        )
        webhook_pause(actor=admin, webhook=webhook)


@contextmanager
def _allowing(name: str, value: object) -> Iterator[None]:
    """A setting of this process as an operator could have it, for as long as something is registered."""
    before = getattr(settings, name)
    setattr(settings, name, value)
    try:
        yield
    finally:
        setattr(settings, name, before)


def taken_out(scene: Scene) -> None:
    """The signed run and a week of the demo as files, and an archive of the collection that comes back as a copy."""
    auditor, admin = scene.person("auditor"), scene.person("admin")
    signed = Run.objects.filter(review_state="signed", collection__slug=DEMO).first()
    if signed is not None:
        run_export(actor=scene.person("analyst"), run=signed)
    until = timezone.now()
    period_export(
        actor=auditor, collection=scene.collection(DEMO), since=until - timedelta(days=7), until=until
    )
    archive_request(actor=admin, collection=scene.collection(CLAIMS))
    ready = Transfer.objects.filter(state="ready").latest("pk")
    with default_storage.open(ready.path) as file:
        archive_upload(actor=admin, file=ContentFile(file.read(), name="claims-of-varnmoor.zip"))
