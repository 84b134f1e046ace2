-- No TRUNCATE while any collection is held, no way out of a hold by moving or rewriting a row, and no hold placed or
-- lifted without its event.

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
CREATE TRIGGER documents_collection_not_emptied BEFORE TRUNCATE ON documents_collection
    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();
CREATE TRIGGER documents_document_not_emptied BEFORE TRUNCATE ON documents_document
    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();
CREATE TRIGGER documents_line_not_emptied BEFORE TRUNCATE ON documents_line
    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();
CREATE TRIGGER documents_page_not_emptied BEFORE TRUNCATE ON documents_page
    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();
CREATE TRIGGER documents_passage_not_emptied BEFORE TRUNCATE ON documents_passage
    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();
CREATE TRIGGER documents_section_not_emptied BEFORE TRUNCATE ON documents_section
    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();
CREATE TRIGGER questions_run_not_emptied BEFORE TRUNCATE ON questions_run
    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();
CREATE TRIGGER questions_candidate_not_emptied BEFORE TRUNCATE ON questions_candidate
    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();
CREATE TRIGGER questions_candidatetext_not_emptied BEFORE TRUNCATE ON questions_candidatetext
    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();
CREATE TRIGGER questions_verdict_not_emptied BEFORE TRUNCATE ON questions_verdict
    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();
CREATE TRIGGER questions_answer_not_emptied BEFORE TRUNCATE ON questions_answer
    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();
CREATE TRIGGER questions_llmcall_not_emptied BEFORE TRUNCATE ON questions_llmcall
    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();
CREATE TRIGGER questions_llmcallbody_not_emptied BEFORE TRUNCATE ON questions_llmcallbody
    FOR EACH STATEMENT EXECUTE FUNCTION documents_refuse_truncate();
CREATE TRIGGER documents_line_stays_held BEFORE UPDATE ON documents_line FOR EACH ROW
    WHEN (NEW.document_id IS DISTINCT FROM OLD.document_id)
    EXECUTE FUNCTION documents_keep_held_words();
CREATE TRIGGER documents_page_stays_held BEFORE UPDATE ON documents_page FOR EACH ROW
    WHEN (NEW.document_id IS DISTINCT FROM OLD.document_id)
    EXECUTE FUNCTION documents_keep_held_words();
CREATE TRIGGER documents_passage_stays_held BEFORE UPDATE ON documents_passage FOR EACH ROW
    WHEN (NEW.document_id IS DISTINCT FROM OLD.document_id)
    EXECUTE FUNCTION documents_keep_held_words();
CREATE TRIGGER documents_section_stays_held BEFORE UPDATE ON documents_section FOR EACH ROW
    WHEN (NEW.document_id IS DISTINCT FROM OLD.document_id)
    EXECUTE FUNCTION documents_keep_held_words();
CREATE TRIGGER questions_run_stays_held BEFORE UPDATE ON questions_run FOR EACH ROW
    WHEN (NEW.collection_id IS DISTINCT FROM OLD.collection_id)
    EXECUTE FUNCTION documents_keep_held_run();
CREATE TRIGGER questions_llmcall_stays_held BEFORE UPDATE ON questions_llmcall FOR EACH ROW
    WHEN (NEW.collection_id IS DISTINCT FROM OLD.collection_id)
    EXECUTE FUNCTION documents_keep_held_run();
CREATE TRIGGER questions_candidate_stays_held BEFORE UPDATE ON questions_candidate FOR EACH ROW
    WHEN (NEW.run_id IS DISTINCT FROM OLD.run_id)
    EXECUTE FUNCTION documents_keep_held_candidate();
CREATE TRIGGER questions_answer_stays_held BEFORE UPDATE ON questions_answer FOR EACH ROW
    WHEN (NEW.run_id IS DISTINCT FROM OLD.run_id)
    EXECUTE FUNCTION documents_keep_held_candidate();
CREATE TRIGGER questions_candidatetext_stays_held BEFORE UPDATE ON questions_candidatetext FOR EACH ROW
    WHEN (NEW.candidate_id IS DISTINCT FROM OLD.candidate_id OR NEW.snippet IS DISTINCT FROM OLD.snippet OR NEW.anchor IS DISTINCT FROM OLD.anchor OR NEW.context IS DISTINCT FROM OLD.context)
    EXECUTE FUNCTION documents_keep_held_judgment();
CREATE TRIGGER questions_verdict_stays_held BEFORE UPDATE ON questions_verdict FOR EACH ROW
    WHEN (NEW.candidate_id IS DISTINCT FROM OLD.candidate_id OR NEW.role IS DISTINCT FROM OLD.role OR NEW.reason IS DISTINCT FROM OLD.reason OR NEW.counter_argument IS DISTINCT FROM OLD.counter_argument OR NEW.quotes IS DISTINCT FROM OLD.quotes)
    EXECUTE FUNCTION documents_keep_held_judgment();
CREATE TRIGGER questions_llmcallbody_stays_held BEFORE UPDATE ON questions_llmcallbody FOR EACH ROW
    WHEN (NEW.call_id IS DISTINCT FROM OLD.call_id OR NEW.request IS DISTINCT FROM OLD.request OR NEW.response IS DISTINCT FROM OLD.response)
    EXECUTE FUNCTION documents_keep_held_call();
