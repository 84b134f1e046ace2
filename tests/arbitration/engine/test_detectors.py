from __future__ import annotations

import pytest

from arbitration.detection import detect
from arbitration.detectors.base import DetectorContext, StoreSession
from arbitration.detectors.cooccurrence import CooccurrenceDetector, meeting_score
from arbitration.detectors.embedding import EmbeddingDetector
from arbitration.detectors.patterns import PatternDetector
from arbitration.detectors.titles import TitleDetector, TitleMatcher
from arbitration.documents import ParsedDocument
from arbitration.questions import Keyword, parse_question
from arbitration.settings import EngineSettings
from tests.arbitration.engine.makers import (
    RETENTION_POLICY,
    HashEmbedder,
    SectionText,
    make_document,
    make_store,
)


def context_of(question: str, *documents: ParsedDocument, **settings: object) -> DetectorContext:
    embedder = HashEmbedder()
    store = make_store(*(documents or (RETENTION_POLICY,)), embedder=embedder)
    return DetectorContext(
        parse_question(question),
        StoreSession(store),
        store.profile(),
        EngineSettings.model_validate(settings),
        embedder,
    )


def keyword(term: str, group: str, weight: float = 1.0) -> Keyword:
    return Keyword.model_validate({"term": term, "source": "question", "weight": weight, "group": group})


# --- co-occurrence -----------------------------------------------------------------------------------


def test_cooccurrence_adds_the_hits_of_both_groups() -> None:
    matched = [keyword("audit", "primary"), keyword("records", "primary"), keyword("kept", "secondary", 0.7)]
    meeting = meeting_score(matched, two_distinct_terms=False, title_matches=False)
    assert meeting.score == pytest.approx(2.7)


def test_cooccurrence_is_zero_when_a_group_is_missing() -> None:
    matched = [keyword("audit", "primary"), keyword("records", "primary")]
    assert meeting_score(matched, two_distinct_terms=False, title_matches=True).score == 0.0


def test_a_matching_title_multiplies_by_one_and_a_half() -> None:
    matched = [keyword("audit", "primary"), keyword("kept", "secondary", 0.7)]
    meeting = meeting_score(matched, two_distinct_terms=False, title_matches=True)
    assert meeting.score == pytest.approx(1.7 * 1.5)


def test_with_one_group_two_distinct_words_must_meet() -> None:
    one = [keyword("positional encoding", "primary"), keyword("encoding", "primary")]
    two = [*one, keyword("positional", "primary")]
    assert meeting_score(one, two_distinct_terms=True, title_matches=False).score == 0.0
    assert meeting_score(two, two_distinct_terms=True, title_matches=False).score == pytest.approx(3.0)


def test_cooccurrence_anchors_the_line_where_keywords_meet() -> None:
    anchors = CooccurrenceDetector().detect(context_of("Can staff destroy payroll records?"))
    best = anchors[0]
    assert best.met_groups or best.met_terms
    assert "meet on one line" in best.why


def test_a_sentence_over_two_lines_is_one_unit_and_over_a_full_stop_is_not() -> None:
    document = make_document(
        SectionText(
            "1 Escrow", ("The licensor deposits the source", "code with an escrow agent.", "Fees are due.")
        )
    )
    anchors = CooccurrenceDetector().detect(context_of("source escrow", document))
    assert [(a.span.line_start, a.span.line_end) for a in anchors] == [(2, 3)]
    by_line = CooccurrenceDetector().detect(context_of("source escrow", document, cooccurrence_unit="line"))
    assert by_line == []


# --- titles ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "title", "kind"),
    [
        ("What positional encoding does the paper use?", "3.5 Positional Encoding", "exact"),
        ("What positional encoding does the paper use?", "Learned positional encodings", "exact"),
        ("What positional encoding does the paper use?", "Encoder and Decoder Stacks", "partial"),
        ("How long are audit records kept?", "2 Retention periods", "none"),
        ("What is the scope?", "S C O P E", "exact"),
        ("Who may park in the garden of the office?", "Garden", "partial"),
    ],
)
def test_title_matches(question: str, title: str, kind: str) -> None:
    context = context_of(question)
    match = TitleMatcher(context).match(title)
    assert match.kind == kind
    assert (match.score == 1.0) == (kind == "exact")


def test_the_title_detector_reads_the_table_of_contents() -> None:
    anchors = TitleDetector().detect(context_of("What are the retention periods?"))
    assert [a.section.title for a in anchors if a.section] == ["2 Retention periods"]
    assert anchors[0].title_match == "exact"
    assert "matches exactly" in anchors[0].why


# --- patterns ----------------------------------------------------------------------------------------

CONSTITUTION = make_document(
    SectionText("Article I, Section 1: Legislature", ("All legislative powers are vested in the assembly.",)),
    SectionText("Article I, Section 8: Powers", ("The assembly may lay taxes.",)),
    SectionText("Amendment 14, Section 1: Citizens", ("All persons born here are citizens.",)),
    SectionText("7 Notices", ("(a) Letters are sent by post.", "(b) Mail is read at once.")),
)


@pytest.mark.parametrize(
    ("question", "titles"),
    [
        ("What does Article I Section 8 say?", ["Article I, Section 8: Powers"]),
        ("Article I", ["Article I, Section 1: Legislature", "Article I, Section 8: Powers"]),
        ("the Fourteenth Amendment", ["Amendment 14, Section 1: Citizens"]),
        ("clause 7(b)", ["7 Notices"]),
    ],
)
def test_a_named_section_is_found_itself(question: str, titles: list[str]) -> None:
    anchors = PatternDetector().detect(context_of(question, CONSTITUTION))
    assert [a.section.title for a in anchors if a.section] == titles
    assert all("the question names" in a.why for a in anchors)


FRAMEWORK = make_document(
    SectionText("Introduction", ("PROTECT has its outcomes too, and GOVERN is in the centre.",)),
    SectionText(
        "Appendix A",
        (
            "GOVERN (GV): policy is established",
            "o GV.OC-01: The mission is understood",
            "and known to all",
            "o GV.OC-02: Stakeholders are understood",
            "o GV.RM-01: Objectives are set",
            "PROTECT (PR): safeguards are used",
            "o PR.AA-01: Identities are managed",
        ),
        page=2,
    ),
)


def test_the_head_of_a_code_family_leads_to_all_its_codes_and_no_others() -> None:
    anchors = PatternDetector().detect(context_of("What are the GOVERN outcomes?", FRAMEWORK))
    codes = {code for anchor in anchors for code in anchor.matched}
    assert codes == {"GV.OC-01", "GV.OC-02", "GV.RM-01"}
    assert all(a.pattern_kind == "family" for a in anchors)
    assert "code family GV of 'GOVERN': 3 codes" in anchors[0].why


def test_two_codes_are_no_family() -> None:
    assert PatternDetector().detect(context_of("What are the PROTECT outcomes?", FRAMEWORK)) == []


def test_a_named_page_is_read() -> None:
    anchors = PatternDetector().detect(context_of("What is on page 2?"))
    assert {a.span.page_start for a in anchors} == {2}


# --- embeddings --------------------------------------------------------------------------------------


def test_a_matching_title_raises_the_cosine_by_the_hybrid_bonus() -> None:
    anchors = EmbeddingDetector().detect(context_of("What are the retention periods?"))
    best = anchors[0]
    assert best.raw is not None
    assert best.score == pytest.approx(1.3 * best.raw)
    assert "title '2 Retention periods' matches" in best.why
    other = next(a for a in anchors if a.section_id == "s4")
    assert other.score == other.raw


def test_several_wordings_take_the_best_similarity() -> None:
    plain = context_of("garden")
    rewritten = DetectorContext(
        parse_question("destruction", rewrites=["the garden is open at noon"]),
        plain.session,
        plain.profile,
        plain.settings,
        plain.embedder,
    )
    by_section = {a.section_id: a.score for a in EmbeddingDetector().detect(rewritten)}
    assert by_section["s4"] == max(by_section.values())


# --- running them ------------------------------------------------------------------------------------


class _Broken:
    method = "bm25"

    def detect(self, context: DetectorContext) -> list[object]:
        raise RuntimeError("index is being rebuilt")


def test_a_failing_detector_is_recorded_and_stops_no_other() -> None:
    detectors = (TitleDetector(), CooccurrenceDetector(), _Broken(), EmbeddingDetector())
    pool = detect(
        question="How long are audit records kept?",
        store=make_store(RETENTION_POLICY, embedder=(embedder := HashEmbedder())),
        embedder=embedder,
        detectors=detectors,  # type: ignore[arg-type]
    )
    outcomes = {o.method: o for o in pool.outcomes}
    assert outcomes["bm25"].status == "failed"
    assert "index is being rebuilt" in (outcomes["bm25"].error or "")
    assert outcomes["cooccurrence"].status == "ran"
    assert pool.candidates


def test_the_same_question_is_put_to_the_store_once() -> None:
    class Counting:
        def __init__(self) -> None:
            self.inner = make_store(RETENTION_POLICY, embedder=HashEmbedder())
            self.calls: list[str] = []

        def __getattr__(self, name: str) -> object:
            self.calls.append(name)
            return getattr(self.inner, name)

    store = Counting()
    detect(
        question="What are the retention periods of audit records?",
        store=store,  # type: ignore[arg-type]
        embedder=HashEmbedder(),
        settings=EngineSettings(precedence=False, definitions=False, references=False),  # which ask more
    )
    for name in ("title_hits", "lexical", "vector", "count_hits", "lines_of_scopes"):
        assert store.calls.count(name) == 1


def test_only_composed_codes_weigh_more_than_words() -> None:
    asked: list[object] = []

    class Listening:
        def __init__(self) -> None:
            self.inner = make_store(RETENTION_POLICY)

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

        def lexical(self, query: str, *, exact: object, limit: int) -> list[object]:
            asked.append(exact)
            return []

    detect(question="What does the FCA ask under PR.AC-1 since 2018?", store=Listening())  # type: ignore[arg-type]

    assert asked == [["PR.AC-1"]]
