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
