"""What the database itself keeps of a collection under a legal hold, whatever the way a deletion comes.

Each constant is frozen with its migration: a change of the triggers is a new migration with SQL of its own. The texts
of runs have theirs in ``workbench.review.protection``.
"""

from __future__ import annotations

#: Tables of a document's text, and their columns that hold it.
TEXTS = {
    "documents_line": ("text",),
    "documents_page": ("text",),
    "documents_passage": ("text",),
    "documents_section": ("title", "breadcrumb"),
}

_FUNCTIONS = """
CREATE FUNCTION documents_refuse_under_hold(subject text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%: its collection is under a legal hold.', subject USING ERRCODE = 'check_violation',
        HINT = 'Nothing in it is deleted or changed until an admin lifts the hold, with a reason.';
END $$;

CREATE FUNCTION documents_keep_held_document() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM documents_collection WHERE id = OLD.collection_id AND legal_hold) THEN
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        -- What is being read goes on; what was read stays; a deletion may be taken back.
        IF NEW.collection_id = OLD.collection_id AND NEW.sha256 = OLD.sha256 AND NEW.file = OLD.file AND (
            NEW.status = OLD.status
            OR (OLD.status NOT IN ('ready', 'deleted', 'erased') AND NEW.status NOT IN ('deleted', 'erased'))
            OR (OLD.status = 'deleted' AND NEW.status = OLD.status_before)) THEN
            RETURN NEW;
        END IF;
    END IF;
    PERFORM documents_refuse_under_hold(format('%s of document %s', TG_OP, OLD.id));
    RETURN NULL;
END $$;

CREATE FUNCTION documents_keep_held_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Reading a document anew replaces its rows; what was read to its end stays.
    IF EXISTS (SELECT FROM gone JOIN documents_document d ON d.id = gone.document_id
               JOIN documents_collection c ON c.id = d.collection_id
               WHERE c.legal_hold AND d.status IN ('ready', 'deleted', 'erased')) THEN
        PERFORM documents_refuse_under_hold(format('DELETE on %s', TG_TABLE_NAME));
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION documents_keep_held_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM documents_document d JOIN documents_collection c ON c.id = d.collection_id
               WHERE d.id = OLD.document_id AND c.legal_hold) THEN
        PERFORM documents_refuse_under_hold(format('UPDATE on %s', TG_TABLE_NAME));
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER document_held BEFORE UPDATE OR DELETE ON documents_document
    FOR EACH ROW EXECUTE FUNCTION documents_keep_held_document();
"""

#: Migration 0005. Under a legal hold no document is deleted, erased or replaced, and no text of one that was read goes.
CREATE_HOLD = _FUNCTIONS + "\n".join(
    f"CREATE TRIGGER {table}_held AFTER DELETE ON {table} REFERENCING OLD TABLE AS gone\n"
    "    FOR EACH STATEMENT EXECUTE FUNCTION documents_keep_held_text();\n"
    f"CREATE TRIGGER {table}_words_held BEFORE UPDATE ON {table} FOR EACH ROW\n"
    f"    WHEN ({' OR '.join(f'NEW.{column} IS DISTINCT FROM OLD.{column}' for column in columns)})\n"
    "    EXECUTE FUNCTION documents_keep_held_words();"
    for table, columns in TEXTS.items()
)

DROP_HOLD = "\n".join(
    [
        *(
            f"DROP TRIGGER {table}_words_held ON {table}; DROP TRIGGER {table}_held ON {table};"
            for table in TEXTS
        ),
        "DROP TRIGGER document_held ON documents_document;",
        "DROP FUNCTION documents_keep_held_words();",
        "DROP FUNCTION documents_keep_held_text();",
        "DROP FUNCTION documents_keep_held_document();",
        "DROP FUNCTION documents_refuse_under_hold(text);",
    ]
)

#: Tables that a TRUNCATE would empty of held text, or of the hold itself; those of runs and model calls among them.
EMPTIED = (
    "documents_collection",
    "documents_document",
    *TEXTS,
    "questions_run",
    "questions_candidate",
    "questions_candidatetext",
    "questions_verdict",
    "questions_answer",
    "questions_llmcall",
    "questions_llmcallbody",
)

_HOLD_FUNCTIONS = """
CREATE FUNCTION documents_refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM documents_collection WHERE legal_hold) THEN
        RAISE EXCEPTION 'TRUNCATE on %: a collection is under a legal hold.', TG_TABLE_NAME
            USING ERRCODE = 'check_violation', HINT = 'Delete the rows of other collections by DELETE.';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION documents_refuse_held_collection() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM documents_refuse_under_hold(format('DELETE of collection %s', OLD.id));
    RETURN NULL;
END $$;

CREATE FUNCTION documents_hold_is_on_record() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    act text := CASE WHEN NEW.legal_hold THEN 'collection.hold_placed' ELSE 'collection.hold_lifted' END;
    top bigint := pg_current_xact_id()::text::bigint;
BEGIN
    -- A row that can be seen and whose writer has not ended was written by this transaction or a savepoint of it.
    -- A row holds the lower 32 bits of its writer; savepoints have higher numbers than their transaction.
    IF NOT EXISTS (
        SELECT FROM audit_event e,
            LATERAL (SELECT (e.xmin::text::bigint - top % 4294967296 + 4294967296) % 4294967296 AS later) x
        WHERE e.collection_id = NEW.id AND e.action = act AND e.created_at >= transaction_timestamp()
            AND x.later < 2147483648 AND pg_xact_status((top + x.later)::text::xid8) = 'in progress'
    ) THEN
        RAISE EXCEPTION 'The legal hold of collection % changes only with the event % in the same transaction.',
            NEW.id, act USING ERRCODE = 'check_violation',
            HINT = 'An admin places and lifts holds on the settings page of the collection, with a reason.';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION documents_keep_held_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM documents_collection WHERE id = OLD.collection_id AND legal_hold) THEN
        PERFORM documents_refuse_under_hold(format('UPDATE on %s', TG_TABLE_NAME));
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION documents_keep_held_candidate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM questions_run r JOIN documents_collection c ON c.id = r.collection_id
               WHERE r.id = OLD.run_id AND c.legal_hold) THEN
        PERFORM documents_refuse_under_hold(format('UPDATE on %s', TG_TABLE_NAME));
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION documents_keep_held_judgment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM questions_candidate n JOIN questions_run r ON r.id = n.run_id
               JOIN documents_collection c ON c.id = r.collection_id
               WHERE n.id = OLD.candidate_id AND c.legal_hold) THEN
        PERFORM documents_refuse_under_hold(format('UPDATE on %s', TG_TABLE_NAME));
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION documents_keep_held_call() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM questions_llmcall l JOIN documents_collection c ON c.id = l.collection_id
               WHERE l.id = OLD.call_id AND c.legal_hold) THEN
        PERFORM documents_refuse_under_hold(format('UPDATE on %s', TG_TABLE_NAME));
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER collection_held BEFORE DELETE ON documents_collection
    FOR EACH ROW WHEN (OLD.legal_hold) EXECUTE FUNCTION documents_refuse_held_collection();
CREATE CONSTRAINT TRIGGER hold_on_record AFTER UPDATE ON documents_collection DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.legal_hold IS DISTINCT FROM OLD.legal_hold)
    EXECUTE FUNCTION documents_hold_is_on_record();
"""

#: What a row must keep under a hold: the words in it, and what it belongs to, or it could be moved out of the hold.
_KEPT = {
    **dict.fromkeys(TEXTS, (("document_id",), "documents_keep_held_words")),
    "questions_run": (("collection_id",), "documents_keep_held_run"),
    "questions_llmcall": (("collection_id",), "documents_keep_held_run"),
    "questions_candidate": (("run_id",), "documents_keep_held_candidate"),
    "questions_answer": (("run_id",), "documents_keep_held_candidate"),
    "questions_candidatetext": (
        ("candidate_id", "snippet", "anchor", "context"),
        "documents_keep_held_judgment",
    ),
    "questions_verdict": (
        ("candidate_id", "role", "reason", "counter_argument", "quotes"),
        "documents_keep_held_judgment",
    ),
    "questions_llmcallbody": (("call_id", "request", "response"), "documents_keep_held_call"),
}

#: Migration 0006. No TRUNCATE while any collection is held, no way out of a hold by moving or rewriting a row, and no
#: hold placed or lifted without its event.
CLOSE_HOLD = _HOLD_FUNCTIONS + "\n".join(
    [
        *(
            f"CREATE TRIGGER {table}_not_emptied BEFORE TRUNCATE ON {table}\n"
            "    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();"
            for table in EMPTIED
        ),
        *(
            f"CREATE TRIGGER {table}_stays_held BEFORE UPDATE ON {table} FOR EACH ROW\n"
            f"    WHEN ({' OR '.join(f'NEW.{column} IS DISTINCT FROM OLD.{column}' for column in columns)})\n"
            f"    EXECUTE FUNCTION {function}();"
            for table, (columns, function) in _KEPT.items()
        ),
    ]
)

OPEN_HOLD = "\n".join(
    [
        *(f"DROP TRIGGER {table}_stays_held ON {table};" for table in _KEPT),
        *(f"DROP TRIGGER {table}_not_emptied ON {table};" for table in EMPTIED),
        "DROP TRIGGER hold_on_record ON documents_collection;",
        "DROP TRIGGER collection_held ON documents_collection;",
        "DROP FUNCTION documents_keep_held_call();",
        "DROP FUNCTION documents_keep_held_judgment();",
        "DROP FUNCTION documents_keep_held_candidate();",
        "DROP FUNCTION documents_keep_held_run();",
        "DROP FUNCTION documents_hold_is_on_record();",
        "DROP FUNCTION documents_refuse_held_collection();",
        "DROP FUNCTION documents_refuse_truncate();",
    ]
)
