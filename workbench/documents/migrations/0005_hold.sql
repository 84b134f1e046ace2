-- What the database itself keeps of a collection under a legal hold, whatever the way a deletion comes: no document
-- is deleted, erased or replaced, and no text of one that was read goes.

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
CREATE TRIGGER documents_line_held AFTER DELETE ON documents_line REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION documents_keep_held_text();
CREATE TRIGGER documents_line_words_held BEFORE UPDATE ON documents_line FOR EACH ROW
    WHEN (NEW.text IS DISTINCT FROM OLD.text)
    EXECUTE FUNCTION documents_keep_held_words();
CREATE TRIGGER documents_page_held AFTER DELETE ON documents_page REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION documents_keep_held_text();
CREATE TRIGGER documents_page_words_held BEFORE UPDATE ON documents_page FOR EACH ROW
    WHEN (NEW.text IS DISTINCT FROM OLD.text)
    EXECUTE FUNCTION documents_keep_held_words();
CREATE TRIGGER documents_passage_held AFTER DELETE ON documents_passage REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION documents_keep_held_text();
CREATE TRIGGER documents_passage_words_held BEFORE UPDATE ON documents_passage FOR EACH ROW
    WHEN (NEW.text IS DISTINCT FROM OLD.text)
    EXECUTE FUNCTION documents_keep_held_words();
CREATE TRIGGER documents_section_held AFTER DELETE ON documents_section REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION documents_keep_held_text();
CREATE TRIGGER documents_section_words_held BEFORE UPDATE ON documents_section FOR EACH ROW
    WHEN (NEW.title IS DISTINCT FROM OLD.title OR NEW.breadcrumb IS DISTINCT FROM OLD.breadcrumb)
    EXECUTE FUNCTION documents_keep_held_words();
