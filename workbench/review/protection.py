"""What the database refuses about decisions and signatures, whatever the caller. Each constant is frozen with its
migration: a change of triggers is a new migration with its own SQL."""

#: Migration 0003. A signed run takes no decision, no evidence and no answer; it is signed only under a standing
#: signature with nothing required left to decide; decisions and signatures are never edited.
CREATE_SIGNING = """
CREATE FUNCTION review_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of a row of % is refused: decisions and signatures are kept as they were made.',
        TG_OP, TG_TABLE_NAME USING ERRCODE = 'check_violation',
        HINT = 'Write a new row that says what is to be corrected.';
END $$;

CREATE FUNCTION review_run_is_unsigned() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    state text;
BEGIN
    -- The lock makes a signature that is being given and this row wait for each other.
    SELECT review_state INTO state FROM questions_run WHERE id = NEW.run_id FOR SHARE;
    IF state = 'signed' THEN
        RAISE EXCEPTION 'Run % is signed: it takes no new row in %.', NEW.run_id, TG_TABLE_NAME
            USING ERRCODE = 'check_violation', HINT = 'Reopen the run first, with a reason.';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION review_signature_is_the_only_one() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM questions_run WHERE id = NEW.run_id FOR UPDATE;
    IF EXISTS (SELECT FROM review_signature s WHERE s.run_id = NEW.run_id
               AND NOT EXISTS (SELECT FROM review_reopening r WHERE r.signature_id = s.id)) THEN
        RAISE EXCEPTION 'Run % has a standing signature.', NEW.run_id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION review_state_follows_signatures() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    stands boolean;
BEGIN
    SELECT EXISTS (SELECT FROM review_signature s WHERE s.run_id = NEW.id
        AND NOT EXISTS (SELECT FROM review_reopening r WHERE r.signature_id = s.id)) INTO stands;
    IF NEW.review_state = 'signed' AND NOT stands THEN
        RAISE EXCEPTION 'Run % has no standing signature.', NEW.id USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.review_state <> 'signed' AND stands THEN
        RAISE EXCEPTION 'Run % has a standing signature: it is reopened by a reopening with a reason.', NEW.id
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.review_state = 'signed' AND EXISTS (SELECT FROM review_queueitem
        WHERE run_id = NEW.id AND is_required AND state = 'waiting') THEN
        RAISE EXCEPTION 'Run % has verdicts that people must still decide.', NEW.id
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER review_review_kept BEFORE UPDATE OR DELETE ON review_review
    FOR EACH ROW EXECUTE FUNCTION review_refuse_change();
CREATE TRIGGER review_signature_kept BEFORE UPDATE OR DELETE ON review_signature
    FOR EACH ROW EXECUTE FUNCTION review_refuse_change();
CREATE TRIGGER review_reopening_kept BEFORE UPDATE OR DELETE ON review_reopening
    FOR EACH ROW EXECUTE FUNCTION review_refuse_change();
CREATE TRIGGER review_not_on_signed BEFORE INSERT ON review_review
    FOR EACH ROW EXECUTE FUNCTION review_run_is_unsigned();
CREATE TRIGGER candidate_not_on_signed BEFORE INSERT ON questions_candidate
    FOR EACH ROW EXECUTE FUNCTION review_run_is_unsigned();
CREATE TRIGGER answer_not_on_signed BEFORE INSERT OR UPDATE ON questions_answer
    FOR EACH ROW EXECUTE FUNCTION review_run_is_unsigned();
CREATE TRIGGER signature_stands_alone BEFORE INSERT ON review_signature
    FOR EACH ROW EXECUTE FUNCTION review_signature_is_the_only_one();
CREATE TRIGGER signed_means_signature BEFORE INSERT OR UPDATE OF review_state ON questions_run
    FOR EACH ROW EXECUTE FUNCTION review_state_follows_signatures();
"""

DROP_SIGNING = """
DROP TRIGGER signed_means_signature ON questions_run;
DROP TRIGGER signature_stands_alone ON review_signature;
DROP TRIGGER answer_not_on_signed ON questions_answer;
DROP TRIGGER candidate_not_on_signed ON questions_candidate;
DROP TRIGGER review_not_on_signed ON review_review;
DROP TRIGGER review_reopening_kept ON review_reopening;
DROP TRIGGER review_signature_kept ON review_signature;
DROP TRIGGER review_review_kept ON review_review;
DROP FUNCTION review_state_follows_signatures();
DROP FUNCTION review_signature_is_the_only_one();
DROP FUNCTION review_run_is_unsigned();
DROP FUNCTION review_refuse_change();
"""

#: Migration 0005. Second reviews and adjudications are kept, never on signed runs, never by the same person.
CREATE_SECOND = """
CREATE FUNCTION review_second_by_another() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    first review_review%ROWTYPE;
BEGIN
    SELECT * INTO first FROM review_review WHERE id = NEW.review_id;
    IF first.reviewer_id <> NEW.first_reviewer_id OR first.candidate_id IS DISTINCT FROM NEW.candidate_id
       OR first.run_id <> NEW.run_id THEN
        RAISE EXCEPTION 'Second review of decision % names another reviewer, candidate or run than the decision.',
            NEW.review_id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION review_adjudication_by_a_third() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    disputed review_secondreview%ROWTYPE;
BEGIN
    SELECT * INTO disputed FROM review_secondreview WHERE id = NEW.second_review_id;
    IF NEW.adjudicator_id IN (disputed.reviewer_id, disputed.first_reviewer_id) THEN
        RAISE EXCEPTION 'A dispute is not adjudicated by one of its two reviewers.'
            USING ERRCODE = 'check_violation';
    END IF;
    IF NOT EXISTS (SELECT FROM review_review WHERE id = NEW.review_id AND run_id = NEW.run_id
                   AND reviewer_id = NEW.adjudicator_id AND candidate_id = disputed.candidate_id) THEN
        RAISE EXCEPTION 'An adjudication names the decision that the adjudicator made on this candidate.'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER second_by_another BEFORE INSERT ON review_secondreview
    FOR EACH ROW EXECUTE FUNCTION review_second_by_another();
CREATE TRIGGER second_not_on_signed BEFORE INSERT ON review_secondreview
    FOR EACH ROW EXECUTE FUNCTION review_run_is_unsigned();
CREATE TRIGGER second_kept BEFORE UPDATE OR DELETE ON review_secondreview
    FOR EACH ROW EXECUTE FUNCTION review_refuse_change();
CREATE TRIGGER adjudication_by_a_third BEFORE INSERT ON review_adjudication
    FOR EACH ROW EXECUTE FUNCTION review_adjudication_by_a_third();
CREATE TRIGGER adjudication_not_on_signed BEFORE INSERT ON review_adjudication
    FOR EACH ROW EXECUTE FUNCTION review_run_is_unsigned();
CREATE TRIGGER adjudication_kept BEFORE UPDATE OR DELETE ON review_adjudication
    FOR EACH ROW EXECUTE FUNCTION review_refuse_change();
"""

DROP_SECOND = """
DROP TRIGGER adjudication_kept ON review_adjudication;
DROP TRIGGER adjudication_not_on_signed ON review_adjudication;
DROP TRIGGER adjudication_by_a_third ON review_adjudication;
DROP TRIGGER second_kept ON review_secondreview;
DROP TRIGGER second_not_on_signed ON review_secondreview;
DROP TRIGGER second_by_another ON review_secondreview;
DROP FUNCTION review_adjudication_by_a_third();
DROP FUNCTION review_second_by_another();
"""

#: Migration 0006. What was said stays as it was said (a deleted run takes its comments along).
CREATE_COMMENTS = """
CREATE TRIGGER comment_kept BEFORE UPDATE ON review_comment
    FOR EACH ROW EXECUTE FUNCTION review_refuse_change();
"""
DROP_COMMENTS = "DROP TRIGGER comment_kept ON review_comment;"

#: Migration 0007. The text of a signed run's answer may be erased with its document; its hash stays in its place.
#: Under a legal hold no text of an ended run goes.
LET_ANSWERS_BE_ERASED = """
DROP TRIGGER answer_not_on_signed ON questions_answer;
CREATE TRIGGER answer_not_on_signed BEFORE INSERT ON questions_answer
    FOR EACH ROW EXECUTE FUNCTION review_run_is_unsigned();
CREATE TRIGGER answer_unchanged_on_signed BEFORE UPDATE ON questions_answer
    FOR EACH ROW WHEN (NOT (NEW.body ? 'erased' AND NOT OLD.body ? 'erased'
        AND NEW.version = OLD.version AND NEW.run_id = OLD.run_id AND NEW.evidence_hash = OLD.evidence_hash))
    EXECUTE FUNCTION review_run_is_unsigned();

CREATE FUNCTION review_keep_held_evidence() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- A run on its way replaces what an interrupted attempt left; what an ended one holds stays.
    IF EXISTS (SELECT FROM gone JOIN questions_candidate n ON n.id = gone.candidate_id
               JOIN questions_run r ON r.id = n.run_id JOIN documents_collection c ON c.id = r.collection_id
               WHERE c.legal_hold AND r.status IN ('done', 'failed', 'cancelled')) THEN
        PERFORM documents_refuse_under_hold(format('DELETE on %s', TG_TABLE_NAME));
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION review_keep_held_answer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM questions_run r JOIN documents_collection c ON c.id = r.collection_id
               WHERE r.id = OLD.run_id AND c.legal_hold) THEN
        PERFORM documents_refuse_under_hold(format('%s of answer %s', TG_OP, OLD.id));
    END IF;
    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION review_keep_held_call() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM gone JOIN questions_llmcall l ON l.id = gone.call_id
               JOIN documents_collection c ON c.id = l.collection_id WHERE c.legal_hold) THEN
        PERFORM documents_refuse_under_hold(format('DELETE on %s', TG_TABLE_NAME));
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER candidate_text_held AFTER DELETE ON questions_candidatetext REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION review_keep_held_evidence();
CREATE TRIGGER verdict_held AFTER DELETE ON questions_verdict REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION review_keep_held_evidence();
CREATE TRIGGER call_body_held AFTER DELETE ON questions_llmcallbody REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION review_keep_held_call();
CREATE TRIGGER answer_held BEFORE DELETE ON questions_answer
    FOR EACH ROW EXECUTE FUNCTION review_keep_held_answer();
CREATE TRIGGER answer_body_held BEFORE UPDATE ON questions_answer
    FOR EACH ROW WHEN (NEW.body IS DISTINCT FROM OLD.body) EXECUTE FUNCTION review_keep_held_answer();
"""

KEEP_ANSWERS = """
DROP TRIGGER answer_body_held ON questions_answer;
DROP TRIGGER answer_held ON questions_answer;
DROP TRIGGER call_body_held ON questions_llmcallbody;
DROP TRIGGER verdict_held ON questions_verdict;
DROP TRIGGER candidate_text_held ON questions_candidatetext;
DROP FUNCTION review_keep_held_call();
DROP FUNCTION review_keep_held_answer();
DROP FUNCTION review_keep_held_evidence();
DROP TRIGGER answer_unchanged_on_signed ON questions_answer;
DROP TRIGGER answer_not_on_signed ON questions_answer;
CREATE TRIGGER answer_not_on_signed BEFORE INSERT OR UPDATE ON questions_answer
    FOR EACH ROW EXECUTE FUNCTION review_run_is_unsigned();
"""
