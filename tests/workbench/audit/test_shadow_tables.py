"""A temporary table hides the real one of the same name: no rule looks at it, and the application makes none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

from tests.workbench.audit.test_append_only import execute, role
from tests.workbench.cast import Cast
from tests.workbench.review.signed import signed
from tests.workbench.scene import Scene, standing_scene
from workbench.audit.checks import nothing_is_shadowed
from workbench.audit.hardening import harden_after_migrate
from workbench.audit.services import audit_record, audit_seal_all
from workbench.documents.erasure import hold_set
from workbench.review.models import Review, ReviewAction, SecondReview
from workbench.runs.models import Candidate, LLMCall, LLMCallBody, RoleChoice

PATH = "search_path=pg_catalog, public, pg_temp"

#: Functions of the schema that no extension brought, and how each finds its tables.
FUNCTIONS = """
    SELECT p.proname, p.proconfig, EXISTS (SELECT FROM pg_trigger t WHERE t.tgfoid = p.oid) AS is_of_a_trigger
      FROM pg_proc p
     WHERE p.pronamespace = 'public'::regnamespace
       AND NOT EXISTS (SELECT FROM pg_depend d
                       WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
"""


@dataclass(frozen=True)
class Attack:
    """What a function refuses: the state of the scene, what the shadows say, and the act (its table written out)."""

    act: str
    refusal: str
    state: str = "plain"
    forged: tuple[str, ...] = field(default=())


#: Trigger functions to what each must refuse, whatever the shadows say. Without forged rows the shadows are empty.
ATTACKS = {
    "audit_refuse": Attack("UPDATE public.audit_event SET reason = ''", "append-only|permission denied"),
    "audit_event_stamp": Attack(
        "INSERT INTO public.audit_event (id, actor_id, actor_name, actor_kind, action, object_type, object_id, reason,"
        " request_id) SELECT 900000000, actor_id, actor_name, actor_kind, action, object_type, object_id, reason,"
        " request_id FROM public.audit_event LIMIT 1",
        "comes from its sequence",
        forged=(
            "CREATE TEMP TABLE audit_event_id_seq (last_value bigint)",
            "INSERT INTO audit_event_id_seq VALUES (1000000000)",
        ),
    ),
    "audit_seal_follows": Attack(
        "INSERT INTO public.audit_seal (position, event_id, event_hash, prev_hash, hash) SELECT 100, event_id,"
        " repeat('0', 64), repeat('0', 64), encode(sha256(convert_to(repeat('0', 128), 'UTF8')), 'hex')"
        " FROM public.audit_pending LIMIT 1",
        "does not follow the head",
        state="waiting",
        forged=(
            "INSERT INTO audit_seal (position, event_id, event_hash, prev_hash, hash, sealed_at)"
            " VALUES (99, 1, repeat('0', 64), repeat('0', 64), repeat('0', 64), now())",
        ),
    ),
    "audit_pending_is_sealed": Attack(
        "DELETE FROM public.audit_pending",
        "has no seal yet",
        state="waiting",
        forged=(
            "INSERT INTO audit_seal (position, event_id, event_hash, prev_hash, hash, sealed_at)"
            " SELECT event_id, event_id, '', '', '', now() FROM public.audit_pending",
        ),
    ),
    "labeling_refuse": Attack("DELETE FROM public.labeling_label", "append-only|permission denied"),
    "review_refuse_change": Attack("UPDATE public.review_review SET role = 'discarded'", "is refused"),
    "review_run_is_unsigned": Attack(
        "INSERT INTO public.questions_answer (run_id, version, body, evidence_hash, is_stale)"
        " SELECT run_id, 99, '{}', '', false FROM public.review_signature",
        "is signed: it takes no new row",
        state="signed",
    ),
    "review_signature_is_the_only_one": Attack(
        "INSERT INTO public.review_signature (run_id, signer_id, signer_name, meaning, record_sha256, record)"
        " SELECT run_id, signer_id, signer_name, meaning, repeat('1', 64), record FROM public.review_signature",
        "has a standing signature",
        state="signed",
    ),
    "review_state_follows_signatures": Attack(
        "UPDATE public.questions_run SET review_state = 'in_review' WHERE review_state = 'signed'",
        "has a standing signature",
        state="signed",
    ),
    "review_second_by_another": Attack(
        "INSERT INTO public.review_secondreview (run_id, candidate_id, review_id, first_reviewer_id, reviewer_id, role,"
        " agrees, comment) SELECT r.run_id, r.candidate_id, r.id, u.id, r.reviewer_id, r.role, true, ''"
        " FROM public.review_review r JOIN public.accounts_user u ON u.email = 'admin@example.org' LIMIT 1",
        "names another reviewer",
        forged=(
            "INSERT INTO review_review SELECT * FROM public.review_review",
            "UPDATE review_review SET reviewer_id = u.id FROM public.accounts_user u"
            " WHERE u.email = 'admin@example.org'",
        ),
    ),
    "review_adjudication_by_a_third": Attack(
        "INSERT INTO public.review_adjudication (run_id, second_review_id, review_id, adjudicator_id, reason)"
        " SELECT run_id, id, review_id, reviewer_id, 'Mine.' FROM public.review_secondreview",
        "not adjudicated by one of its two",
        state="disputed",
        forged=(
            "INSERT INTO review_secondreview SELECT * FROM public.review_secondreview",
            "UPDATE review_secondreview SET reviewer_id = -1, first_reviewer_id = -2",
            "INSERT INTO review_review SELECT * FROM public.review_review",
            "UPDATE review_review SET reviewer_id = (SELECT reviewer_id FROM public.review_secondreview)",
        ),
    ),
    "review_keep_held_evidence": Attack(
        "DELETE FROM public.questions_verdict", "under a legal hold", state="held"
    ),
    "review_keep_held_answer": Attack(
        "UPDATE public.questions_answer SET body = '{}'", "under a legal hold", state="held"
    ),
    "review_keep_held_call": Attack(
        "DELETE FROM public.questions_llmcallbody", "under a legal hold", state="held"
    ),
    "documents_keep_held_document": Attack(
        "UPDATE public.documents_document SET sha256 = md5(sha256)", "under a legal hold", state="held"
    ),
    "documents_keep_held_text": Attack(
        "DELETE FROM public.documents_line", "under a legal hold", state="held"
    ),
    "documents_keep_held_words": Attack(
        "UPDATE public.documents_passage SET text = ''", "under a legal hold", state="held"
    ),
    "documents_refuse_truncate": Attack(
        "TRUNCATE public.documents_line", "under a legal hold|permission denied", state="held"
    ),
    "documents_refuse_held_collection": Attack(
        "DELETE FROM public.documents_collection WHERE legal_hold", "under a legal hold", state="held"
    ),
    "documents_hold_is_on_record": Attack(
        "UPDATE public.documents_collection SET legal_hold = NOT legal_hold; SET CONSTRAINTS ALL IMMEDIATE",
        "only with the event",
        forged=(
            "INSERT INTO audit_event (collection_id, action, created_at)"
            " SELECT id, 'collection.hold_placed', clock_timestamp() FROM public.documents_collection",
        ),
    ),
    "documents_keep_held_run": Attack(
        "UPDATE public.questions_run SET collection_id = collection_id + 1",
        "under a legal hold",
        state="held",
    ),
    "documents_keep_held_candidate": Attack(
        "UPDATE public.questions_candidate SET run_id = run_id + 1", "under a legal hold", state="held"
    ),
    "documents_keep_held_judgment": Attack(
        "UPDATE public.questions_verdict SET role = 'discarded', reason = 'Rewritten.'",
        "under a legal hold",
        state="held",
    ),
    "documents_keep_held_call": Attack(
        "UPDATE public.questions_llmcallbody SET request = '[]'", "under a legal hold", state="held"
    ),
}
#: It refuses nothing; see test_the_trails_queue_is_the_real_one.
DOES = {"audit_event_queue"}


def _dispute(cast: Cast, scene: Scene) -> None:
    candidate = Candidate.objects.filter(run=scene.run, reviews__isnull=True).first()
    review = Review.objects.create(
        run=scene.run,
        candidate=candidate,
        reviewer=cast.reviewer,
        action=ReviewAction.UNSURE,
        role=RoleChoice.PRIMARY,
        machine_role=RoleChoice.PRIMARY,
    )
    SecondReview.objects.create(
        run=scene.run,
        candidate=candidate,
        review=review,
        first_reviewer=cast.reviewer,
        reviewer=cast.second_reviewer,
        role=RoleChoice.DISCARDED,
        agrees=False,
    )


STATES: dict[str, Callable[[Cast, Scene], object]] = {
    "plain": lambda cast, scene: None,
    "waiting": lambda cast, scene: audit_record(actor=cast.admin, action="comment.added"),
    "signed": lambda cast, scene: signed(scene.run, cast.reviewer),
    "held": lambda cast, scene: hold_set(
        actor=cast.admin, collection=cast.alpha, is_held=True, reason="A case."
    ),
    "disputed": _dispute,
}


def shadow_tables_of(function: str) -> None:
    """An empty temporary table in front of every table that the function names. The forger writes into it what is
    looked at, and nothing else."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT t.tablename, string_agg(format('ALTER %%I DROP NOT NULL', c.column_name), ', ')"
            " FROM pg_tables t JOIN information_schema.columns c"
            "   ON (c.table_schema, c.table_name, c.is_nullable) = (t.schemaname, t.tablename, 'NO')"
            " WHERE t.schemaname = 'public' AND EXISTS (SELECT FROM pg_proc p"
            "   WHERE p.proname = %s AND p.prosrc ~ ('\\m' || t.tablename || '\\M'))"
            " GROUP BY 1",
            [function],
        )
        for name, loosened in cursor.fetchall():
            cursor.execute(f'CREATE TEMP TABLE "{name}" (LIKE public."{name}")')
            cursor.execute(f'ALTER TABLE pg_temp."{name}" {loosened}')


@pytest.fixture(scope="module")
def standing(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Cast, Scene]]:
    with django_db_blocker.unblock(), standing_scene(tmp_path_factory.mktemp("scene")) as (cast, scene):
        call = LLMCall.objects.create(collection=cast.alpha, run=scene.run, attempt=1, outcome="ok")
        LLMCallBody.objects.create(call=call, request={})
        audit_seal_all()
        yield cast, scene


@pytest.fixture
def forger(application_role: str) -> str:
    """The application's role, on a server whose administrator lets it make temporary tables all the same."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"GRANT TEMPORARY ON DATABASE {connection.ops.quote_name(connection.settings_dict['NAME'])}"
            f" TO {application_role}"
        )
    return application_role


def strike(function: str, forger: str) -> None:
    attack = ATTACKS[function]
    with role(forger):
        shadow_tables_of(function)
        for statement in attack.forged:
            execute(statement)
        execute("SET CONSTRAINTS ALL DEFERRED")
        with connection.cursor() as cursor:
            cursor.execute(attack.act)


def functions() -> dict[str, tuple[list[str] | None, bool]]:
    with connection.cursor() as cursor:
        cursor.execute(FUNCTIONS)
        return {name: (settings, is_of_a_trigger) for name, settings, is_of_a_trigger in cursor.fetchall()}


def test_every_function_looks_in_its_own_schema_first(db: None) -> None:
    found = functions()
    assert {name for name, (settings, _) in found.items() if settings != [PATH]} == set()
    assert "documents_refuse_under_hold" in found


def test_every_trigger_is_attacked(db: None) -> None:
    assert {name for name, (_, is_of_a_trigger) in functions().items() if is_of_a_trigger} == {
        *ATTACKS,
        *DOES,
    }


@pytest.mark.parametrize("name", ATTACKS)
def test_no_shadow_passes_a_rule(name: str, standing: tuple[Cast, Scene], forger: str) -> None:
    attack = ATTACKS[name]
    STATES[attack.state](*standing)
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    with pytest.raises(DatabaseError, match=attack.refusal):
        strike(name, forger)


#: These look at no table.
BLIND = {"audit_refuse", "labeling_refuse", "review_refuse_change", "documents_refuse_held_collection"}


@pytest.mark.parametrize("name", sorted({*ATTACKS} - BLIND))
def test_each_shadow_would_pass_if_the_functions_looked_there(
    name: str, standing: tuple[Cast, Scene], forger: str
) -> None:
    attack = ATTACKS[name]
    STATES[attack.state](*standing)
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    for function in functions():
        execute(f"ALTER FUNCTION {function} RESET search_path")
    execute("GRANT TRUNCATE ON ALL TABLES IN SCHEMA public TO workbench_app")
    said = ""
    try:
        with transaction.atomic():
            strike(name, forger)
    except DatabaseError as error:
        said = str(error)
    assert not re.search(attack.refusal, said)


def test_the_trails_queue_is_the_real_one(standing: tuple[Cast, Scene], forger: str) -> None:
    with role(forger):
        shadow_tables_of("audit_event_queue")
        execute(
            "INSERT INTO public.audit_event (actor_name, actor_kind, action, object_type, object_id, reason,"
            " request_id) VALUES ('Forger', 'system', 'comment.added', '', '', '', '')"
        )
        execute("SELECT 1 / count(*) FROM public.audit_pending")


def test_the_application_makes_no_temporary_table(application_role: str) -> None:
    harden_after_migrate(using="default")
    with pytest.raises(DatabaseError, match="permission denied"), role(application_role):
        execute("CREATE TEMP TABLE audit_pending (event_id bigint)")
    with pytest.raises(DatabaseError, match="permission denied"), role(application_role):
        execute("CREATE FUNCTION public.harmless() RETURNS int LANGUAGE sql AS 'SELECT 1'")


def test_a_careless_grant_is_told_and_the_next_migration_takes_it_back(forger: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE FUNCTION audit_forgotten() RETURNS int LANGUAGE sql AS 'SELECT 1'")
        cursor.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
    temporary, lasting = nothing_is_shadowed(databases=["default"])
    assert (temporary.id, "temporary tables" in temporary.msg) == ("audit.W002", True)
    assert "REVOKE TEMPORARY ON DATABASE" in str(temporary.hint)
    assert "REVOKE CREATE ON SCHEMA public" in str(lasting.hint)

    call_command("migrate", verbosity=0)

    assert nothing_is_shadowed(databases=["default"]) == []
    assert functions()["audit_forgotten"][0] == [PATH]


def test_without_a_database_nothing_is_asked() -> None:
    assert nothing_is_shadowed(databases=None) == []


def test_a_function_of_an_extension_is_left_alone(db: None) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT proconfig FROM pg_proc WHERE proname = 'l2_distance' LIMIT 1")
        assert cursor.fetchone() == (None,)
