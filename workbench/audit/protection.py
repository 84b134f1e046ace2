"""What makes the trail append-only in the database: triggers and privileges.

Frozen with migration 0001: a change of the triggers is a new migration with SQL of its own.
"""

from __future__ import annotations

from typing import Any

from django.db import connections

#: The role as which web and worker connect. It owns nothing; ``workbench_owner`` runs the migrations.
APPLICATION_ROLE = "workbench_app"

TABLES = ("audit_event", "audit_seal", "audit_pending")

CREATE_TRIGGERS = """
CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The audit trail is append-only: % on % is refused.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege',
              HINT = 'Record a new event that says what is to be corrected.';
END $$;

CREATE FUNCTION audit_event_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- No writer chooses the time, or takes an id that is still to come.
    IF NEW.id > (SELECT last_value FROM audit_event_id_seq) THEN
        RAISE EXCEPTION 'The id of an audit event comes from its sequence, not from the writer.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    NEW.created_at := clock_timestamp();
    NEW.salt := gen_random_uuid();
    RETURN NEW;
END $$;

CREATE FUNCTION audit_event_queue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit_pending (event_id) SELECT id FROM written;
    RETURN NULL;
END $$;

CREATE FUNCTION audit_seal_follows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    head audit_seal%ROWTYPE;
BEGIN
    SELECT * INTO head FROM audit_seal ORDER BY position DESC LIMIT 1;
    IF NEW.position <> COALESCE(head.position, 0) + 1
       OR NEW.prev_hash <> COALESCE(head.hash, repeat('0', 64)) THEN
        RAISE EXCEPTION 'Seal % does not follow the head of the chain (position %).',
            NEW.position, COALESCE(head.position, 0) USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.hash <> encode(sha256(convert_to(NEW.prev_hash || NEW.event_hash, 'UTF8')), 'hex') THEN
        RAISE EXCEPTION 'Seal % has a wrong hash.', NEW.position
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    NEW.sealed_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE FUNCTION audit_pending_is_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM audit_seal WHERE event_id = OLD.event_id) THEN
        RAISE EXCEPTION 'Event % has no seal yet and keeps waiting for it.', OLD.event_id
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN OLD;
END $$;

CREATE TRIGGER audit_event_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_event
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_seal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seal
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_pending_append_only BEFORE UPDATE OR TRUNCATE ON audit_pending
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_pending_leaves_sealed BEFORE DELETE ON audit_pending
    FOR EACH ROW EXECUTE FUNCTION audit_pending_is_sealed();
CREATE TRIGGER audit_event_stamped BEFORE INSERT ON audit_event
    FOR EACH ROW EXECUTE FUNCTION audit_event_stamp();
CREATE TRIGGER audit_event_queued AFTER INSERT ON audit_event REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION audit_event_queue();
CREATE TRIGGER audit_seal_in_order BEFORE INSERT ON audit_seal
    FOR EACH ROW EXECUTE FUNCTION audit_seal_follows();
"""

DROP_TRIGGERS = """
DROP TRIGGER audit_seal_in_order ON audit_seal;
DROP TRIGGER audit_event_queued ON audit_event;
DROP TRIGGER audit_event_stamped ON audit_event;
DROP TRIGGER audit_pending_leaves_sealed ON audit_pending;
DROP TRIGGER audit_pending_append_only ON audit_pending;
DROP TRIGGER audit_seal_append_only ON audit_seal;
DROP TRIGGER audit_event_append_only ON audit_event;
DROP FUNCTION audit_pending_is_sealed();
DROP FUNCTION audit_seal_follows();
DROP FUNCTION audit_event_queue();
DROP FUNCTION audit_event_stamp();
DROP FUNCTION audit_refuse();
"""

_GRANTS = f"""
REVOKE ALL ON audit_event, audit_seal, audit_pending FROM {APPLICATION_ROLE};
GRANT SELECT, INSERT ON audit_event, audit_seal TO {APPLICATION_ROLE};
GRANT SELECT, INSERT, DELETE ON audit_pending TO {APPLICATION_ROLE};
GRANT USAGE, SELECT ON SEQUENCE audit_event_id_seq TO {APPLICATION_ROLE};
"""

PROTECT = f"""
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = '{APPLICATION_ROLE}') THEN
        {_GRANTS}
    END IF;
END $$;
"""


def protect_after_migrate(*, using: str, **_: Any) -> None:
    """Takes the privileges away again after every migration, in case somebody granted them on all tables.

    Does nothing without the application's role, and leaves tables of another owner alone.
    """
    connection = connections[using]
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('audit_pending')"
        )
        if cursor.fetchone() == (True,):
            cursor.execute(PROTECT)
