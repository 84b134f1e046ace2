from __future__ import annotations

from arbitration.detection import detect
from arbitration.evaluation.judge import Judge
from arbitration.evaluation.records import EvalQuestion, PageEvidence
from arbitration.features import FEATURE_NAMES
from arbitration.triage import OPEN_GATES
from tests.arbitration.engine.makers import RETENTION_POLICY, HashEmbedder, make_store
from training.labelled_pools import gate_samples, labelled_pool

QUESTION = EvalQuestion(
    "q1",
    "Who destroys records?",
    answerable=True,
    evidence=(PageEvidence("policy", 2, 2),),
    document_id="policy",
)


def test_candidates_of_a_pool_are_labelled_by_the_judge() -> None:
    embedder = HashEmbedder()
    pool = detect(
        question=QUESTION.text, store=make_store(RETENTION_POLICY, embedder=embedder), embedder=embedder
    )

    labelled = labelled_pool(pool, QUESTION, judge=Judge({}), dataset_ids={"d1": "policy"})
    samples = gate_samples(pool, QUESTION, labelled.labels, profile=OPEN_GATES)

    assert labelled.labels == [candidate.anchor.page_start == 2 for candidate in pool.candidates]
    assert any(labelled.labels)
    assert labelled.features.shape == (len(pool.candidates), len(FEATURE_NAMES))
    assert labelled.document == "policy"
    assert [sample.is_evidence for sample in samples] == labelled.labels
    assert {sample.question for sample in samples} == {"q1"}
