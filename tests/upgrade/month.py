"""A month of an installation of the product as it was: run by ``make_dump.py`` inside the checkout of that commit.

It imports what that commit has, so nothing here follows today's names. Each act is the product's own: services, or a
request of a signed-in person. Tasks run in this process as soon as their transaction is committed. After each day the
rows of that day are moved to the day that they stand for, and only then sealed in the audit trail.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg

from tests.fake_llm import FakeLLM
from tests.webhook_receiver import Receiver

DAYS = 30
PASSWORD = os.environ["WORKBENCH_DEMO_PASSWORD"]

fake = FakeLLM()
fake.start()
os.environ |= {
    "DJANGO_SETTINGS_MODULE": "tests.integration.dev",
    "OPENAI_BASE_URL": fake.base_url,
    "OPENAI_API_KEY": "sk-of-no-use-to-anybody",
    "OPENAI_MODEL": "gpt-5-mini",
    "LOG_LEVEL": "ERROR",
    "ALLOWED_HOSTS": "*",
}

import django

django.setup()

from django.conf import settings

settings.STORAGES |= {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}

from django.core.files.base import ContentFile
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from arbitration.triage import GateProfile
from tests.arbitration.evaluation.folders import obliqa_folder, obliqa_label
from tests.workbench.models_registry.makers import World, retrained, truths
from workbench.accounts.models import User
from workbench.accounts.services import membership_grant, user_create, user_invite
from workbench.api.tokens import token_create, token_revoke
from workbench.archives.models import Transfer
from workbench.archives.transfers import archive_confirm, archive_request, archive_upload
from workbench.audit.services import audit_seal_all, audit_verify, verification_note
from workbench.celery import app
from workbench.collection_settings.calibration import calibration_of_collection
from workbench.collection_settings.services import gates_apply, proposal_create
from workbench.documents.drawings import page_picture
from workbench.documents.embedding import active_space
from workbench.documents.erasure import document_delete, hold_set, retention_set
from workbench.documents.models import Collection, Document, VersionOffer
from workbench.documents.services import collection_create, document_upload
from workbench.documents.versions import version_accept, version_decline
from workbench.exports.services import export_fetched, period_export, run_export
from workbench.labeling.adjudication import disputes, pair_adjudicate
from workbench.labeling.models import Project
from workbench.labeling.projects import guideline_write, project_create
from workbench.labeling.supply import elusion_draw, pairs_add_from_runs
from workbench.labeling.transfer import labels_import, pairs_import
from workbench.labeling.work import slot_answer, slot_claim_next, slot_pass, undo_last
from workbench.models_registry.champion import alias_version
from workbench.models_registry.models import ModelVersion
from workbench.models_registry.services import model_roll_back, model_shadow, schedule_change
from workbench.ops.control import budgets_change, llm_resume, llm_stop
from workbench.ops.demo.questions import DEMO_QUESTIONS
from workbench.question_sets.services import (
    question_set_change,
    question_set_create,
    round_start,
    rounds_finish,
)
from workbench.questions.comparison import compared, comparison_decide, comparison_start
from workbench.questions.models import Run
from workbench.questions.prices import price_set
from workbench.questions.services import question_ask
from workbench.review.bulk import bulk_approve, bulk_preview
from workbench.review.comments import comment_add
from workbench.review.evidence import evidence_add
from workbench.review.filters import QueueFilter
from workbench.review.models import ItemStage, ItemState, QueueItem
from workbench.review.notifications import wish_set
from workbench.review.policy import policy_set
from workbench.review.queue import queue_claim_next, queue_hand_over
from workbench.review.record import record_digest, signed_record
from workbench.review.regeneration import answer_regenerate
from workbench.review.rerun import run_again
from workbench.review.saved_views import view_save
from workbench.review.second import dispute_adjudicate, second_review_add
from workbench.review.services import (
    candidate_approve,
    candidate_choose,
    candidate_override,
    candidate_undo,
    candidate_unsure,
    not_found_confirm,
)
from workbench.review.signing import items_to_decide, run_reopen, run_sign
from workbench.vocabulary.services import entry_add, entry_approve, entry_reject
from workbench.webhooks.services import webhook_create, webhook_test

app.conf.task_always_eager = True


# --- the days -----------------------------------------------------------------------------------------------


class Calendar:
    """Moves what a day wrote to the day that it stands for; as superuser, since no trigger lets anybody else."""

    def __init__(self) -> None:
        self._server = psycopg.connect(os.environ["TEST_DATABASE_URL"].rsplit("/", 1)[0] + "/workbench")
        self._server.autocommit = True
        self._server.execute("SET session_replication_role = replica")
        self._columns = self._server.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
            " AND data_type = 'timestamp with time zone' AND is_generated = 'NEVER'"
        ).fetchall()
        self._began = self._now()

    def _now(self) -> Any:
        return self._server.execute("SELECT clock_timestamp()").fetchone()[0]

    def end_day(self, day: int) -> None:
        """The rows of the day, which is so many days before the end of the month, get its date, and are sealed."""
        back = timedelta(days=DAYS - day)
        ended = self._now()
        for table, column in self._columns:
            if table not in {"audit_seal", "django_migrations"}:
                self._move(table, column, back, ended)
        self._server.execute(
            "UPDATE review_queueitem SET entered = entered - %s"
            " WHERE entered BETWEEN extract(epoch FROM %s::timestamptz) AND extract(epoch FROM %s::timestamptz)",
            [back.total_seconds(), self._began, ended],
        )
        audit_seal_all()
        self._move("audit_seal", "sealed_at", back, self._now())
        self._began = self._now()

    def _move(self, table: str, column: str, back: timedelta, ended: Any) -> None:
        self._server.execute(
            f'UPDATE "{table}" SET "{column}" = "{column}" - %s WHERE "{column}" BETWEEN %s AND %s',
            [back, self._began, ended],
        )


# --- people and things --------------------------------------------------------------------------------------


def person(name: str) -> User:
    return User.objects.get(email=f"{name}@demo.example")


def demo() -> Collection:
    return Collection.objects.get(slug="demo")


def document(name: str) -> Document:
    return Document.objects.filter(collection=demo(), name=name).earliest("pk")


def browser(name: str) -> Client:
    client = Client(headers={"Accept-Language": "en"})
    client.force_login(person(name))
    return client


def ask(text: str, *, by: str = "analyst", of: str = "", strategy: str = "offline", **options: Any) -> Run:
    asked = question_ask(
        actor=person(by),
        collection=demo(),
        text=text,
        document=document(of) if of else None,
        strategy=strategy,
        **options,
    )
    run = Run.objects.get(pk=asked.run.pk)
    assert run.status == "done", (run.status, run.failure_reason)
    return run


def upload(name: str, content: bytes, collection: Collection | None = None) -> Document:
    file = ContentFile(content, name=name)
    made = document_upload(
        actor=person("analyst"), collection=collection or demo(), file=file, name=name
    ).document
    made.refresh_from_db()
    return made


def other_role(candidate: Any) -> str:
    return "supporting" if candidate.verdict.role == "discarded" else "discarded"


def waiting(stage: str = ItemStage.FIRST, run: Run | None = None) -> Iterable[QueueItem]:
    items = QueueItem.objects.filter(state=ItemState.WAITING, stage=stage, collection=demo())
    items = items.filter(run=run) if run else items
    return (
        items.exclude(run__review_state="signed").select_related("candidate__verdict", "run").order_by("pk")
    )


def decide(item: QueueItem, number: int, *, by: str) -> None:
    """As a person would, mostly agreeing."""
    reviewer = person(by)
    if item.candidate is None:
        not_found_confirm(actor=reviewer, run=item.run, comment="Nothing here speaks of it.")
        return
    role = item.candidate.verdict.role
    if "blind" in item.why:
        candidate_choose(actor=reviewer, candidate=item.candidate, role=role or "discarded")
    elif role is None or number % 4 == 3:
        candidate_override(
            actor=reviewer,
            candidate=item.candidate,
            role="discarded" if role is None else other_role(item.candidate),
            reason_code="wrong_role",
            comment="Read in its context.",
        )
    else:
        candidate_approve(actor=reviewer, candidate=item.candidate)


def decide_all(run: Run, *, by: str = "reviewer") -> None:
    for number, item in enumerate(list(items_to_decide(run=run))):
        fresh = QueueItem.objects.select_related("candidate__verdict", "run").get(pk=item.pk)
        if fresh.stage == ItemStage.FIRST:
            decide(fresh, number, by=by)
        fresh.refresh_from_db()
        if fresh.state == ItemState.WAITING and fresh.stage == ItemStage.SECOND:
            role = fresh.candidate.verdict.role or "discarded"
            second_review_add(actor=person("reviewer2"), candidate=fresh.candidate, role=role)
        fresh.refresh_from_db()
        if fresh.state == ItemState.WAITING and fresh.stage == ItemStage.ADJUDICATION:
            dispute_adjudicate(
                actor=person("lead"),
                candidate=fresh.candidate,
                role="supporting",
                reason="Both are half right.",
            )


def sign(run: Run, *, by: str = "reviewer") -> None:
    digest = record_digest(signed_record(Run.objects.get(pk=run.pk)))
    run_sign(actor=person(by), run=run, password=PASSWORD, meaning="reviewed", seen_sha256=digest)


def ok(response: Any) -> Any:
    assert response.status_code < 400, (response.status_code, response.content[:2000])
    assert "/accounts/login/" not in response.get("Location", "")
    return response


# --- what happens -------------------------------------------------------------------------------------------


def opening(receiver: Receiver) -> None:
    """The demo, people, a second collection, settings."""
    call_command("create_demo", verbosity=0)
    system = User.objects.system()
    lead = user_create(actor=system, email="lead@demo.example", name="Leonie Brandt", password=PASSWORD)
    membership_grant(actor=system, user=lead, collection=demo(), role="reviewer")
    admin = person("admin")
    # By this address the tests of addresses know who has a second factor.
    second = user_create(
        actor=system, email="second-reviewer@example.org", name="Sara Lind", password=PASSWORD
    )
    membership_grant(actor=system, user=second, collection=demo(), role="reviewer")
    user_create(actor=system, email="staff@demo.example", name="Staff", password=PASSWORD, is_staff=True)
    User.objects.create_superuser("root@demo.example", PASSWORD, name="Root")
    beta = collection_create(actor=admin, slug="beta", name="Claims handling", description="Another team's.")
    for role in ("analyst", "reviewer", "annotator", "admin", "auditor"):
        outsider = user_create(
            actor=system, email=f"beta-{role}@demo.example", name=f"Beta {role}", password=PASSWORD
        )
        membership_grant(actor=admin, user=outsider, collection=beta, role=role)
    upload_by = person("beta-analyst")
    text = (
        b"1 Claims\n\nA claim is acknowledged within five days.\n\n2 Payment\n\nIt is paid within ten days.\n"
    )
    document_upload(
        actor=upload_by, collection=beta, file=ContentFile(text, name="claims.txt"), name="claims.txt"
    )
    user_invite(
        actor=admin,
        collection=demo(),
        email="invited@demo.example",
        role="auditor",
        build_url=lambda path: f"https://workbench.example{path}",
    )
    ok(
        browser("admin").post(
            "/collections/demo/settings/change/",
            {"description": demo().description, "allowed_endpoints": fake.base_url}
            | dict.fromkeys(_properties(), 0.5),
        )
    )
    price_set(
        actor=person("staff"), model="gpt-5-mini", fresh=Decimal("0.3"), cached=Decimal("0.03"),
        output=Decimal("2.4"), reason="The list of this month.",
    )  # fmt: skip
    budgets_change(
        actor=person("staff"), run_budget=Decimal("2"), month_budget=Decimal("100"), reason="A pilot."
    )
    webhook_create(
        actor=admin,
        collection=demo(),
        url=receiver.url,
        events=["run.finished", "run.signed"],
        description="Desk",
    )
    for user in ("reviewer", "analyst"):
        wish_set(user=person(user), email="daily")


def _properties() -> tuple[str, ...]:
    from arbitration.strategies.rubrics import PROPERTIES

    return tuple(PROPERTIES)


def first_questions() -> None:
    """The demo's own questions; some are decided."""
    runs = [ask(question.text, of=question.document) for question in DEMO_QUESTIONS]
    for run in runs[:3]:
        decide_all(run)


def first_signature() -> None:
    """On a later day than the decisions: a record holds their times, which move with their day."""
    sign(Run.objects.earliest("pk"))


def queue_work() -> None:
    """Claims, an unsure, an undo, a card handed over, comments, views."""
    item = queue_claim_next(actor=person("reviewer"), filters=QueueFilter.of({"show": "all"}))
    assert item is not None
    cards = [
        card for card in waiting() if card.candidate and card.candidate.verdict.role and card.pk != item.pk
    ]
    candidate_unsure(actor=person("reviewer2"), candidate=cards[0].candidate, comment="I cannot tell.")
    candidate_approve(actor=person("reviewer2"), candidate=cards[1].candidate)
    candidate_undo(actor=person("reviewer2"), candidate=cards[1].candidate)
    queue_hand_over(actor=person("admin"), item=cards[2], to=person("reviewer2"), note="Yours, I think.")
    comment_add(actor=person("analyst"), run=cards[2].run, body="@reviewer please look at this one.")
    comment_add(actor=person("reviewer"), run=cards[2].run, body="It is clear.", candidate=cards[2].candidate)
    view_save(
        user=person("reviewer"), name="Payments", filters=QueueFilter.of({"show": "all", "role": "primary"})
    )
    filters = QueueFilter.of({"collection": "demo", "show": "all", "role": "discarded"})
    preview = bulk_preview(actor=person("reviewer2"), filters=filters)
    bulk_approve(actor=person("reviewer2"), filters=filters, digest=preview.digest)


def two_reviewers() -> None:
    """Blind and double reviews: agreement, dispute, adjudication, and some left at each stage."""
    policy_set(actor=person("admin"), collection=demo(), blind_share=1, second_share=1)
    run = ask("Who keeps the register of access rights?", use_cache=False)
    cards = [card for card in waiting(run=run) if card.candidate]
    for card in cards[:5]:
        candidate_choose(actor=person("reviewer"), candidate=card.candidate, role="supporting")
    for card, role in zip(cards[:4], ["supporting", "primary", "primary", "supporting"], strict=True):
        second_review_add(actor=person("reviewer2"), candidate=card.candidate, role=role)
    dispute_adjudicate(
        actor=person("lead"), candidate=cards[1].candidate, role="primary", reason="It names the keeper."
    )
    policy_set(actor=person("admin"), collection=demo(), blind_share=0.2, second_share=0.1)


def models_asked() -> None:
    """Strategies that ask a language model, a stop and a resumption, a comparison."""
    question = DEMO_QUESTIONS[0].text
    for strategy in ("pointwise", "arbiter", "r-flow"):
        ask(question, of="master-services-agreement.txt", strategy=strategy)
    comparison = comparison_start(
        actor=person("analyst"),
        collection=demo(),
        text="Who is the responsible officer?",
        strategies=["offline", "bm25"],
    )
    for row in compared(list(comparison.runs.order_by("pk"))):
        comparison_decide(
            actor=person("reviewer"),
            comparison=comparison,
            candidate_id=row.candidate.candidate_id,
            role="supporting",
            reason_code="wrong_role",
            comment="As agreed.",
        )
        break  # one row is enough
    llm_stop(actor=person("staff"), reason="The bill is looked at.")
    llm_resume(actor=person("staff"), reason="It was right.")


def own_words() -> None:
    """Question sets with two rounds, words of the collection, thresholds."""
    texts = [question.text for question in DEMO_QUESTIONS[:2]]
    monthly = question_set_create(
        actor=person("analyst"),
        collection=demo(),
        name="Monthly check",
        questions=texts,
        description="Every month.",
    )
    documents = [document("master-services-agreement.txt"), document("amendment-no-1.md")]
    round_start(actor=person("analyst"), question_set=monthly, documents=documents, strategy="offline")
    rounds_finish()
    question_set_change(
        actor=person("analyst"), question_set=monthly, questions=[*texts, "Who signs the minutes?"]
    )
    round_start(actor=person("analyst"), question_set=monthly, documents=documents[:1], strategy="bm25")
    admin = person("admin")
    entry_add(actor=admin, collection=demo(), term="client money", variant="funds held for clients")
    entry = entry_add(actor=admin, collection=demo(), term="invoice", variant="bill")
    entry_reject(actor=admin, entry=entry)
    entry_approve(actor=admin, entry=entry)
    entry_reject(actor=admin, entry=entry)
    calibration = calibration_of_collection(collection=demo())
    proposal = proposal_create(
        actor=admin, collection=demo(), calibration=calibration, source="labels of the demo"
    )
    profile = GateProfile(
        name="cautious", embedding_space=active_space().name, minimum=0.02, verify=0.05, accept=0.97, gap=0.5
    )
    gates_apply(
        actor=admin,
        collection=demo(),
        profile=profile,
        seen_revision=0,
        proposal=proposal,
        reason="Measured.",
    )


def labelling() -> None:
    """A project worked by two annotators, a known answer, a dispute, an adjudication, a sample of the discarded."""
    admin = person("admin")
    membership_grant(actor=admin, user=person("reviewer2"), collection=demo(), role="annotator")
    shares = {"double_share": 1.0, "gold_share": 0.2, "random_share": 0.2}
    project = project_create(
        actor=admin, project=Project(collection=demo(), name="Invoices and records", **shares)
    )
    guideline_write(actor=admin, project=project, body="Primary carries the answer by itself.")
    guideline_write(
        actor=admin, project=project, body="Primary carries the answer by itself.\n\nSupporting helps."
    )
    pairs_add_from_runs(actor=admin, project=project, limit=60)
    rows = "question,document,page,line_from,line_to,role\nWho pays the fees?,amendment-no-1.md,1,1,2,discarded\n"
    pairs_import(actor=admin, project=project, content=rows.encode())
    elusion_draw(actor=admin, project=project, size=6, seed=7)
    for name, roles in (("annotator", ["primary", "discarded"] * 7), ("reviewer2", ["discarded"] * 14)):
        for role in roles:
            slot = slot_claim_next(actor=person(name), project=project)
            if slot is not None:
                slot_answer(actor=person(name), slot=slot, role=role)
        slot = slot_claim_next(actor=person(name), project=project)
        if slot is not None:
            slot_pass(actor=person(name), slot=slot, kind="unsure")
            slot_claim_next(actor=person(name), project=project)
    undo_last(actor=person("annotator"), project=project)
    waiting_pairs = list(disputes(user=person("reviewer")))
    assert len(waiting_pairs) > 1, "people agreed too much"
    pair_adjudicate(actor=person("reviewer"), pair=waiting_pairs[0], role="primary", comment="It does.")


def training() -> None:
    """Labels of elsewhere with their features, a training that deploys, one that is kept, a way back, a shadow."""
    world = World(demo(), document("amendment-no-1.md"), person("annotator"))
    labels = (
        "question,document,page,line_from,role\nWho signs for the Client?,amendment-no-1.md,1,2,primary\n"
    )
    labels_import(
        actor=person("admin"), collection=demo(), content=labels.encode(), file_name="labels.csv",
        source="annotator", judge="An office", is_gold=False,
    )  # fmt: skip
    world.gold(truths(range(1000, 1040)))
    world.label(truths(range(40)))
    system = User.objects.system()
    first = retrained(system)
    assert first.state == "done", first.failure_reason
    world.label(truths(range(40, 60), noise=0.3))
    retrained(system)
    schedule_change(actor=person("staff"), is_on=False, min_new_labels=25)
    versions = list(ModelVersion.objects.order_by("number"))
    other = next(version for version in reversed(versions) if version != alias_version())
    model_shadow(actor=person("staff"), version=other)
    ask("How long are invoices kept?", use_cache=False)
    model_roll_back(actor=person("staff"), version=other, reason="The new one knows this office only.")


UPDATES = "How quickly must critical security updates be installed for staff?"


def before_the_version() -> None:
    """A run that is signed the next day."""
    decide_all(ask(UPDATES, of="information-security-policy.md"))


def versions() -> None:
    """A new version of a document that a signed run rests on; one that is none; an unread file; a deleted one."""
    sign(Run.objects.filter(question__text=UPDATES).latest("pk"), by="lead")
    name = "information-security-policy.md"
    text = document(name).file.open().read().decode()
    changed = text.replace("48 hours", "24 hours") + "\n\nThis version tightens one period.\n"
    newer = upload(name, changed.encode())
    version_accept(actor=person("analyst"), document=newer)
    other = upload(
        "amendment-no-1_v2.md", document("amendment-no-1.md").file.open().read() + b"\n\nA draft.\n"
    )
    if VersionOffer.objects.filter(document=other, state="open").exists():
        version_decline(actor=person("analyst"), document=other)
    upload("broken.pdf", b"%PDF-1.7\nnothing more")
    gone = upload("notes.txt", b"Notes of a meeting that should not have been uploaded.\n\nNothing else.\n")
    document_delete(actor=person("admin"), document=gone, reason="Uploaded by mistake.")
    regulation = document("regulation-on-client-records.pdf")
    page_picture(document=regulation, page_num=1, user=person("analyst"))
    hold_set(actor=person("admin"), collection=demo(), is_held=True, reason="A case.")
    hold_set(actor=person("admin"), collection=demo(), is_held=False, reason="It is closed.")
    retention_set(actor=person("admin"), collection=demo(), days=3650, delay_days=30, reason="The law.")


def later_questions() -> None:
    """More of them: own evidence, a new answer, a reopened signature, a run again, a waiting one."""
    run = ask(
        "What happens at the end of the agreement?", of="master-services-agreement.txt", use_cache=False
    )
    evidence_add(
        actor=person("reviewer"), run=run, document=document("master-services-agreement.txt"), first=(1, 1),
        last=(1, 2), role="supporting", reason="Names the parties.",
    )  # fmt: skip
    answer_regenerate(actor=person("analyst"), run=run)
    decide_all(run)
    sign(run)
    run_reopen(actor=person("reviewer2"), run=run, reason="A clause was overlooked.")
    run_again(actor=person("analyst"), run=run)
    ask("Which notices must be in writing?")


def programs() -> None:
    """Tokens, requests that are repeated, a second factor, an evaluation."""
    _token, key = token_create(actor=person("analyst"), name="nightly job", scopes=["view", "ask"], days=90)
    revoked, _key = token_create(actor=person("reviewer"), name="old job", scopes=["view"], days=30)
    token_revoke(actor=person("reviewer"), token=revoked)
    program = Client(headers={"Authorization": f"Bearer {key}"})
    asked = {"collection": "demo", "text": "Who may inspect the records?", "strategy": "offline"}
    run = Run.objects.earliest("pk").pk
    for path, body in (
        ("questions", asked),
        ("comments", {"run": run, "body": "The nightly job saw it."}),
    ) * 2:
        headers = {"Idempotency-Key": f"nightly-{path}"}
        ok(
            program.post(
                f"/api/v1/{path}/", json.dumps(body), content_type="application/json", headers=headers
            )
        )
    from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret

    TOTP.activate(User.objects.get(email="second-reviewer@example.org"), generate_totp_secret())
    ok(browser("lead").get("/accounts/email/"))
    with tempfile.TemporaryDirectory() as folder:
        asked = ("Within how many days is a fee paid?", "By how much does a late fee grow?")
        labels = [obliqa_label(f"1.1.1.({n})", qid=f"q{n}", question=text) for n, text in enumerate(asked, 1)]
        path = obliqa_folder(Path(folder) / "fees", labels)
        call_command("evaluate", str(path), "--strategies", "offline,bm25", "--json", stdout=StringIO())


def taken_out() -> None:
    """Exports, archives, a test of the webhook, the chain verified."""
    signed_run = Run.objects.filter(review_state="signed", text_changed_at__isnull=True).earliest("pk")
    export = run_export(actor=person("analyst"), run=signed_run)
    export.refresh_from_db()
    assert export.state == "ready", export.failure
    export_fetched(actor=person("analyst"), file=export.files.first())
    until = timezone.now()
    period_export(actor=person("auditor"), collection=demo(), since=until - timedelta(days=4), until=until)
    archive_request(actor=person("beta-admin"), collection=Collection.objects.get(slug="beta"))
    ready = Transfer.objects.get(state="ready")
    from django.core.files.storage import default_storage

    with default_storage.open(ready.path) as file:
        sent = archive_upload(actor=person("admin"), file=ContentFile(file.read(), name="beta.zip"))
    archive_confirm(actor=person("admin"), transfer=sent, slug="claims-copy")
    webhook = demo().webhooks.get()
    webhook_test(actor=person("admin"), webhook=webhook)
    report = audit_verify()
    assert report.ok, report
    verification_note(report)
    for name in ("analyst", "reviewer", "admin", "auditor"):
        ok(browser(name).get("/"))


def main() -> None:
    """Every act on its day."""
    calendar = Calendar()
    with Receiver() as receiver:
        acts: list[tuple[int, Callable[[], None]]] = [
            (1, lambda: opening(receiver)),
            (2, first_questions),
            (3, first_signature),
            (4, queue_work),
            (7, two_reviewers),
            (10, models_asked),
            (12, own_words),
            (15, labelling),
            (18, training),
            (20, before_the_version),
            (21, versions),
            (25, later_questions),
            (28, programs),
            (30, taken_out),
        ]
        for day, act in acts:
            if day == 25:
                receiver.status = 500
            act()
            calendar.end_day(day)
            print(f"day {day} is over", flush=True)
    # Not sealed yet: an upgrade finds such events.
    comment_add(actor=person("analyst"), run=Run.objects.earliest("pk"), body="Before the upgrade.")
    fake.stop()


if __name__ == "__main__":
    main()
