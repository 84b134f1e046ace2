"""Who may do what: every address and method of the product, and the people for whom it does something.

A letter is a person. Members of the collection that the address speaks of:

    A analyst   R reviewer   N annotator   D admin   U auditor

the same roles in another collection in small letters, ``S`` staff of the installation without a role, ``!`` a
superuser without a role, ``?`` a stranger. A GET does something when it answers with a page; any other method when it
changes a row of the database. So a row says both: these can, and nobody else can.

A new address, or a new method of an old one, fails the test until it has a row.
"""

from __future__ import annotations

from tests.workbench.addresses import a_second_factor
from tests.workbench.cast import PASSWORD

from . import parts
from .parts import EVERYBODY, MEMBERS, ROLES, SIGNED_IN, Row, a_file, fields, get, post

CSV = "question,document,page,line_from,line_to,role\n"

OPEN: list[Row] = [
    get("healthz", EVERYBODY),
    get("readyz", EVERYBODY),
    # Off until it is set up; then for whoever has its token (tests/workbench/operations/test_metrics.py).
    get("metrics", ""),
    post("set_language", SIGNED_IN, fields(language="es")),
    get("styleguide", ""),  # only where the product is being developed
    get("home", SIGNED_IN),
]

DOCUMENTS: list[Row] = [
    get("documents:collections", SIGNED_IN),
    post("documents:collections", SIGNED_IN, fields(name="Mine")),
    get("documents:collection", MEMBERS),
    post("documents:upload", "AD", a_file("new.txt", "Words.", "files")),
    get("documents:document", MEMBERS),
    get("documents:status", MEMBERS),
    get("documents:original", MEMBERS),
    get("documents:page-image", ""),  # a text document has no pages to draw
    get("documents:page-picture", ""),
    get("documents:beside", MEMBERS),
    get("documents:citation", MEMBERS, fields(**{"from": "1:2", "to": "1:3"})),
    get("documents:versions", MEMBERS),
    post("documents:retry", "AD", given=parts.failed_document),
    post("documents:cancel", "AD", given=parts.document_on_its_way),
    post("documents:delete", "D", fields(reason="Asked for by the client.", is_sure="on")),
    post("documents:keep", "D", fields(reason="By mistake."), parts.deleted_document),
    get("documents:restrict", "D"),
    post("documents:restrict", "D", fields(is_restricted="on", reason="Personal data.")),
    post("documents:describe", "AD", fields(document_type="policy")),
    post("documents:bulk", "AD", parts.described),
    get("documents:fields", MEMBERS),
    post("documents:fields", "D", fields(name="Owner", kind="text")),
    post("documents:version-decide", "AD", fields(decision="decline"), parts.offered),
]

QUESTIONS: list[Row] = [
    get("search:search", SIGNED_IN, fields(q="records")),
    get("questions:ask", SIGNED_IN),
    post("questions:ask", "ARD", parts.question),
    get("questions:runs", SIGNED_IN),
    get("questions:run", MEMBERS),
    get("questions:record", MEMBERS),
    post("questions:cancel", "ARD", given=parts.run_on_its_way),
    post("questions:rerun", "ARD", fields(primary="records")),
    get("questions:evidence", MEMBERS),
    get("questions:strategies", SIGNED_IN),
    get("questions:compare", SIGNED_IN),
    post("questions:compare", "ARD", parts.comparison),
    get("questions:comparison", MEMBERS),
    post("questions:comparison-decide", "R", parts.compared),
]

REVIEW: list[Row] = [
    get("review:queue", SIGNED_IN),
    post("review:next", "R", given=parts.waiting),
    get("review:claims", SIGNED_IN),
    get("review:bulk", SIGNED_IN),
    post("review:bulk", "R", parts.bulk, parts.clear_cut),
    get("review:bulk-checks", "D"),  # the bulk approval is the admin's own
    post("review:bulk-checks", "D"),
    post("review:view-save", SIGNED_IN, fields(name="Mine")),
    post("review:view-delete", "D"),  # the view is the admin's own
    get("review:item", "R"),
    post("review:claim", "R", given=parts.waiting),
    post("review:release", "RD", given=parts.claimed),
    post("review:claim-run", "R", given=parts.waiting),
    post("review:release-run", "R", given=parts.claimed),
    get("review:hand-over", "RD"),
    post("review:hand-over", "RD", parts.hand_over, parts.claimed),
    get("review:policy", "D"),
    post("review:policy", "D", fields(blind_share="0.3", second_share="0.1")),
    post("review:approve", "R"),
    post("review:override", "R", parts.override),
    post("review:unsure", "R"),
    post("review:choose", "R", parts.other_role, parts.blind),
    post("review:adjudicate", "R", parts.other_role, parts.disputed),
    post("review:undo", "R", given=parts.decided_by_the_reviewer),
    post("review:not-found", "R", fields(decision="confirm"), parts.not_found),
    post("review:not-found-undo", "R", given=parts.not_found_confirmed),
    get("review:documents", "R"),
    get("review:lines", "R"),
    post("review:lines", "R", parts.lines_of),
    post("review:regenerate", "ARD", given=parts.stale_answer),
    get("review:against", MEMBERS),
    post("review:against", "ARD"),
    get("review:receipt", MEMBERS),
    get("review:receipt-json", MEMBERS),
    post("review:comment", MEMBERS, fields(body="Look at this.")),
    get("review:as-of", MEMBERS),
    get("review:notifications", SIGNED_IN),
    post("review:notifications", SIGNED_IN, fields(email="daily")),
    post("review:notification-read", SIGNED_IN, given=parts.a_notification),
    get("review:sign", MEMBERS),
    post("review:sign", "R", parts.page_signature, parts.all_decided),
    post("review:reopen", "RD", fields(reason="New evidence."), parts.signed_run),
]

SETS: list[Row] = [
    get("question_sets:sets", SIGNED_IN),
    post("question_sets:sets", "ARD", fields(collection="alpha", name="More", questions="Who signs?")),
    get("question_sets:set", MEMBERS),
    post("question_sets:change", "ARD", fields(questions="Who signs?\nWho pays?")),
    post(
        "question_sets:start", "ARD", lambda scene: {"documents": [scene.document.pk], "strategy": "offline"}
    ),
    get("question_sets:round", MEMBERS),
    get("question_sets:export", MEMBERS),
    post("question_sets:retry", "ARD", given=parts.failed_cell),
]

VOCABULARY: list[Row] = [
    get("vocabulary:vocabulary", MEMBERS),
    post("vocabulary:vocabulary", "RD", fields(term="log", variant="journal", kind="alias", language="en")),
    post("vocabulary:import", "RD", a_file("pairs.csv", "term,variant\nlog,journal\n")),
    get("vocabulary:export", MEMBERS),
    post("vocabulary:decide", "RD", fields(decision="approve")),
]

LABELLING: list[Row] = [
    get("labeling:projects", SIGNED_IN),
    post(
        "labeling:projects",
        "D",
        fields(collection="alpha", name="More", double_share=15, gold_share=5, random_share=20),
    ),
    get("labeling:corrected", SIGNED_IN),
    get("labeling:project", MEMBERS),
    post("labeling:fill", "D", fields(limit=10)),
    post("labeling:supply", "D", fields(keep_waiting=5)),
    post("labeling:elusion", "D", fields(**{"elusion-size": 1})),
    post("labeling:guidelines", "D", fields(body="Primary carries the answer.")),
    post("labeling:import", "D", a_file("pairs.csv", CSV + "Who?,policy.txt,1,1,2,\n", kind="pairs")),
    post("labeling:open", "D", fields(open="0")),
    get("labeling:work", "N"),
    post("labeling:work", "N", given=parts.pair_supplied),
    post("labeling:undo", "N", given=parts.labelled),
    post("labeling:answer", "N", fields(role="primary"), parts.on_the_desk),
    post("labeling:pass", "N", fields(kind="unsure"), parts.on_the_desk),
    post("labeling:release", "N", given=parts.on_the_desk),
    get("labeling:adjudication", SIGNED_IN),
    get("labeling:dispute", "R"),
    post(
        "labeling:dispute", "R", fields(role="primary", comment="It carries the answer."), parts.two_judgments
    ),
    get("labeling:agreement", SIGNED_IN),
    get("labeling:export", "D"),
]

SETTINGS: list[Row] = [
    get("collection_settings:settings", "DU"),
    post("collection_settings:change", "D", parts.collection_settings),
    post("collection_settings:hold", "D", fields(is_held="True", reason="A case.")),
    post("collection_settings:retention", "D", fields(days="365", delay_days="3", reason="Policy.")),
    post("collection_settings:thresholds", "D", parts.thresholds),
    post("collection_settings:apply", "D", parts.proposal, parts.a_proposal),
    post("collection_settings:remove", "D", fields(reason="Wrong.", seen_revision=1), parts.thresholds_set),
    get("ops:risk", "DU"),
    post("ops:risk-compute", "D", fields(decides="discard", promised="10")),
    post("ops:risk-apply", "D", parts.bar_to_apply, parts.a_bar_proposed),
    post("ops:risk-remove", "D", parts.bar_to_remove, parts.a_bar_in_use),
    get("directory:groups", "DU"),
    post("directory:groups", "D", fields(group="Legal", role="analyst"), parts.in_legal),
    post("directory:group-remove", "D"),
    get("accounts:people", "DU"),
    post("accounts:invite", "D", fields(email="new@example.org", role="analyst")),
    post("accounts:grant", "D", fields(role="auditor")),
    post("accounts:revoke", "D", fields(role="analyst")),
    post("accounts:invite-again", "D", given=parts.without_password),
]

#: A model belongs to the installation, and so does what moves it; what its pages show of a collection is filtered.
MODELS: list[Row] = [
    get("models:models", SIGNED_IN),
    get("models:plan", SIGNED_IN),
    get("models:drift", SIGNED_IN),
    get("models:version", SIGNED_IN),
    get("models:training", SIGNED_IN),
    get("models:progress", SIGNED_IN),
    get("models:label", MEMBERS),
    post("models:start", "DdS!"),
    post(
        "models:schedule",
        "S!",
        fields(day=3, hour=4, min_new_labels=1, min_positives=1, min_negatives=1, min_questions=1),
    ),
    post("models:roll-back", "S!", fields(reason="Worse."), parts.once_passed),
    post("models:shadow", "S!", fields(end="1"), parts.in_shadow),
    post("models:cancel", "DdS!"),
]

INSTALLATION: list[Row] = [
    get("ops:operations", "DUduS!"),
    post("ops:stop", "S!", fields(reason="Too dear.")),
    post("ops:resume", "S!", fields(reason="Cheap again."), parts.models_stopped),
    post("ops:budgets", "S!", fields(run_budget="1", month_budget="50", reason="A limit.")),
    post("ops:mail-trial", "S!"),
    get("ops:jobs", "DUduS!"),
    post("ops:jobs", "S!", fields(kind="vectors")),
    get("ops:endpoints", "DUduS!"),
    post("ops:endpoints", "S!", fields(endpoint="away", model="none")),
    get("ops:prices", "DUduS!"),
    post("ops:prices", "S!", fields(model="m", fresh="1", cached="0.1", output="2", reason="The list.")),
    post("ops:price-remove", "S!", fields(model="gpt-5-mini", reason="Gone.")),
    post("ops:run-retry", "ARD", given=parts.failed_run),
    get("ops:trust", SIGNED_IN),  # figures of one's own collections
    get("ops:progress", SIGNED_IN),
    get("ops:tour", SIGNED_IN),
    post("ops:tour-end", SIGNED_IN),
    get("ops:costs", "DUduS!"),
    get("ops:costs-export", "DUduS!"),
    get("ops:prompts", "DUduS!"),
    get("audit:trail", "DUduS!"),
    post("audit:verify", ""),  # reads; the page shows the outcome
    post("audit:anchor", "DUduS!", given=parts.sealed),
    get("tokens:tokens", SIGNED_IN),
    get("tokens:documentation", SIGNED_IN),
    post("tokens:tokens", SIGNED_IN, fields(name="job", scopes=["view"], days=3)),
    post("tokens:revoke", "D"),  # the token is the admin's own
]

#: An export is read by its asker and by those who read the collection's trail.
EXPORTS: list[Row] = [
    get("exports:exports", SIGNED_IN),
    post("exports:exports", "DU", parts.period),
    get("exports:export", "ADU"),
    get("exports:fetch", "ADU"),
    post("exports:run", MEMBERS),
    get("api:export-list", SIGNED_IN),
    post("api:export-list", MEMBERS, lambda scene: {"run": scene.run.pk}),
    get("api:export-detail", "ADU"),
    get("api:export-file", "ADU"),
    get("exports:report", SIGNED_IN),
    post("exports:report", "DU", parts.period),
    get("api:period-report-list", "DU", parts.period_named),
    # A link is made by who may sign or manage; whoever has its address opens it.
    get("exports:links", "RDU"),
    post("exports:links", "RD", fields(reason="For the auditor.", days="30"), parts.signed_run),
    post("exports:link-revoke", "RD"),
    get("exports:shared", EVERYBODY),
    get("api:report-link-list", SIGNED_IN),
    post("api:report-link-list", "RD", parts.link, parts.signed_run),
    get("api:report-link-detail", "RDU"),
    post("api:report-link-revoke", "RD"),
]

#: A collection leaves for those who manage it; anybody takes one in, and sees only what they sent themselves.
ARCHIVES: list[Row] = [
    get("archives:collection", "D"),
    post("archives:collection", "D"),
    get("archives:sent", SIGNED_IN),
    post("archives:sent", SIGNED_IN, parts.an_archive_alone),
    get("archives:archive", "D"),
    post("archives:take-in", "D", fields(slug="gamma")),
    post("archives:remove", "D"),
    get("archives:fetch", "D"),
]

#: Who reads the trail reads what was sent; admins change where.
SOURCES: list[Row] = [
    get("sources:sources", "D"),
    post("sources:sources", "D", parts.source_form),
    get("sources:source", "D"),
    post("sources:switch", "D", fields(act="remove")),
    post("sources:look", "D"),
    post("sources:retry", "D"),
    get("api:source-list", SIGNED_IN),
    post("api:source-list", "D", parts.source),
    get("api:source-detail", "D"),
    post("api:source-pause", "D"),
    post("api:source-resume", "D", given=parts.a_paused_source),
    post("api:source-remove", "D"),
    post("api:source-look", "D"),
    get("api:source-file-list", SIGNED_IN),
    get("api:source-file-detail", "D"),
    post("api:source-file-retry", "D"),
]

WEBHOOKS: list[Row] = [
    get("webhooks:webhooks", "DU"),
    post("webhooks:webhooks", "D", parts.webhook),
    get("webhooks:webhook", "DU"),
    post("webhooks:change", "D", parts.webhook),
    post("webhooks:secret", "D"),
    post("webhooks:switch", "D", fields(act="remove")),
    post("webhooks:test", "D"),
    post("webhooks:repeat-missed", "D", given=parts.a_missed_delivery),
    post("webhooks:repeat", "D", given=parts.a_missed_delivery),
    get("api:webhook-list", SIGNED_IN),
    post("api:webhook-list", "D", parts.webhook),
    get("api:webhook-detail", "DU"),
    post("api:webhook-change", "D", parts.webhook),
    post("api:webhook-secret", "D"),
    post("api:webhook-pause", "D"),
    post("api:webhook-resume", "D", given=parts.a_paused_webhook),
    post("api:webhook-remove", "D"),
    post("api:webhook-test", "D"),
    post("api:webhook-repeat-missed", "D", given=parts.a_missed_delivery),
    get("api:webhook-delivery-list", SIGNED_IN),
    get("api:webhook-delivery-detail", "DU"),
    post("api:webhook-delivery-repeat", "D", given=parts.a_missed_delivery),
]

API_LABELLING: list[Row] = [
    get("api:labeling-project-list", SIGNED_IN),
    post("api:labeling-project-list", "D", fields(collection="alpha", name="More")),
    get("api:labeling-project-detail", MEMBERS),
    post("api:labeling-project-fill", "D", fields(limit=10)),
    post("api:labeling-project-elusion", "D", fields(size=1)),
    post("api:labeling-project-import", "D", a_file("pairs.csv", CSV + "Who?,policy.txt,1,1,2,\n")),
    post("api:labeling-project-supply", "D", fields(keep_waiting=5)),
    post("api:labeling-project-open", "D", fields(is_open=False)),
    get("api:labeling-project-guidelines", MEMBERS),
    post("api:labeling-project-guidelines", "D", fields(body="Primary carries the answer.")),
    post("api:labeling-project-next", "N", given=parts.pair_supplied),
    post("api:labeling-project-undo", "N", given=parts.labelled),
    get("api:labeling-desk-detail", "N", given=parts.on_the_desk),
    post("api:labeling-desk-answer", "N", fields(role="primary"), parts.on_the_desk),
    post("api:labeling-desk-pass-over", "N", fields(kind="unsure"), parts.on_the_desk),
    post("api:labeling-desk-release", "N", given=parts.on_the_desk),
    get("api:dispute-list", SIGNED_IN),
    get("api:dispute-detail", "R"),
    post("api:dispute-adjudicate", "R", fields(role="primary", comment="It does."), parts.two_judgments),
    post("api:dispute-set-aside", "R", fields(comment="It cannot be told."), parts.two_judgments),
    get("api:labels-agreement", "RDU"),
    get("api:labels-export", "D"),
    get("api:labels-dataset", "D"),
    get("api:labels-qrels", "D"),
    get("api:labels-topics", "D"),
    get("api:labels-trec-run", "D", fields(strategy="offline")),
    post("api:labels-import", "D", parts.label_file),
    get("api:labeling-project-label-studio", "D"),
]

API_ADMINISTRATION: list[Row] = [
    get("api:language-models", "DUduS!"),
    get("api:prompt-list", "DUduS!"),
    get("api:prompt-detail", "DUduS!"),
    post("api:language-models-stop", "S!", fields(reason="Too dear.")),
    post("api:language-models-resume", "S!", fields(reason="Cheap again."), parts.models_stopped),
    post("api:language-models-budgets", "S!", fields(run_budget="1", month_budget="50", reason="A limit.")),
    post("api:document-remove", "D", fields(reason="Asked for by the client.")),
    post("api:document-keep", "D", fields(reason="By mistake."), parts.deleted_document),
    get("api:collection-fields", MEMBERS),
    post("api:collection-field-add", "D", fields(name="Owner")),
    post("api:collection-field-remove", "D", fields(name="owner"), parts.a_field),
    post("api:collection-describe-documents", "AD", parts.api_described),
    get("api:document-restriction", "DU"),
    post("api:document-restriction", "D", fields(is_restricted=True, reason="Personal data.")),
    get("api:document-deletion", MEMBERS),
    get("api:collection-keeping", "DU"),
    post(
        "api:collection-keeping",
        "D",
        fields(legal_hold=True, retention_days=365, erasure_delay_days=3, reason="A case."),
    ),
    get("api:collection-thresholds", "DU"),
    post("api:collection-thresholds", "D", parts.api_thresholds),
    post(
        "api:collection-remove-thresholds",
        "D",
        fields(reason="Wrong.", seen_revision=1),
        parts.thresholds_set,
    ),
    get("api:collection-threshold-proposals", "DU"),
    get("api:collection-risk", "DU"),
    post("api:collection-compute-risk", "D", fields(decides="discard", promised=0.1)),
    post("api:collection-apply-risk", "D", parts.bar_to_apply, parts.a_bar_proposed),
    post("api:collection-remove-risk", "D", parts.bar_to_remove, parts.a_bar_in_use),
    get("api:collection-groups", "DU"),
    post("api:collection-groups", "D", fields(group="Legal", role="analyst"), parts.in_legal),
    post("api:collection-group-remove", "D"),
    get("api:collection-people", "DU"),
    post("api:collection-people", "D", fields(email="new@example.org", role="analyst")),
    post("api:collection-person-grant", "D", fields(role="auditor")),
    post("api:collection-person-revoke", "D", fields(role="analyst")),
    post("api:collection-person-invite", "D", given=parts.without_password),
    get("api:collection-settings", "DU"),
    post("api:collection-settings", "D", parts.api_settings),
    get("api:collection-review-shares", "D"),
    post("api:collection-review-shares", "D", fields(blind_share=0.3, second_share=0.1)),
    get("api:collection-trust", "RDU"),
    get("api:question-set-coverage", MEMBERS),
    get("api:collection-progress", "RDU"),
    get("api:costs", "DUduS!"),
    get("api:language-models-endpoints", "DUduS!"),
    post("api:language-models-endpoint-test", "S!", fields(endpoint="away", model="none")),
    get("api:language-models-prices", "DUduS!"),
    post(
        "api:language-models-prices",
        "S!",
        fields(model="m", input="1", cached_input="0.1", output="2", reason="The list."),
    ),
    post("api:language-models-price-remove", "S!", fields(model="gpt-5-mini", reason="Gone.")),
    post("api:audit-event-verify", ""),  # reads; the answer is the outcome
    post("api:audit-event-anchor", "DUduS!", given=parts.sealed),
    get("api:maintenance-list", "DUduS!"),
    get("api:maintenance-detail", "DUduS!"),
    post("api:maintenance-list", "S!", fields(kind="vectors")),
]

#: The same as by the pages.
API_MODELS: list[Row] = [
    get("api:model-list", SIGNED_IN),
    get("api:model-detail", SIGNED_IN),
    get("api:model-labels", SIGNED_IN),
    get("api:model-serving", SIGNED_IN),
    get("api:model-move-list", SIGNED_IN),
    post("api:model-roll-back", "S!", fields(reason="Worse."), parts.once_passed),
    post("api:model-shadow", "S!"),
    post("api:model-end-shadow", "S!", given=parts.in_shadow),
    get("api:training-list", SIGNED_IN),
    post("api:training-list", "DdS!"),
    get("api:training-detail", SIGNED_IN),
    post("api:training-cancel", "DdS!"),
    get("api:training-plan", SIGNED_IN),
    get("api:training-schedule", SIGNED_IN),
    post("api:training-schedule", "S!", parts.schedule),
    get("api:drift", SIGNED_IN),
]

API: list[Row] = [
    get("api:schema", SIGNED_IN),
    get("api:collection-list", SIGNED_IN),
    post("api:collection-list", SIGNED_IN, fields(name="Mine")),
    get("api:collection-detail", MEMBERS),
    get("api:collection-archive-detail", "D", given=parts.true_hashes),
    post("api:collection-archive-list", SIGNED_IN, parts.an_archive),
    get("api:search-list", SIGNED_IN, fields(q="records")),
    get("api:document-list", SIGNED_IN),
    post("api:document-list", "AD", a_file("new.txt", "Words.", collection="alpha")),
    post("api:document-archive", "AD", parts.a_zip),
    get("api:document-detail", MEMBERS),
    post("api:document-cancel", "AD", given=parts.document_on_its_way),
    post("api:document-retry", "AD", given=parts.failed_document),
    post("api:document-describe", "AD", fields(document_type="policy")),
    post("api:document-version-decision", "AD", fields(decision="declined"), parts.offered),
    get("api:document-original", MEMBERS),
    get("api:document-versions", MEMBERS),
    get("api:document-outline", MEMBERS),
    get("api:document-page", MEMBERS),
    get("api:document-page-image", ""),  # a text document has no pages to draw
    get("api:document-find", MEMBERS, fields(q="records")),
    get("api:document-citation", MEMBERS, fields(**{"from": "1:2"})),
    get("api:document-beside", MEMBERS),
    get("api:document-alike", MEMBERS),
    post("api:question-list", "ARD", parts.question),
    get("api:question-estimate", "ARD", fields(collection="alpha")),
    get("api:run-list", SIGNED_IN),
    get("api:run-detail", MEMBERS),
    post("api:run-again", "ARD"),
    get("api:run-answer", MEMBERS),
    post("api:run-answer", "ARD", given=parts.stale_answer),
    get(
        "api:run-events", ""
    ),  # asked for as an event stream, else refused: tests/workbench/api/test_conditions.py
    get("api:run-as-of", MEMBERS, fields(at="2026-01-01T00:00:00Z")),
    post("api:run-cancel", "ARD", given=parts.run_on_its_way),
    post("api:run-evidence", "R", parts.api_lines),
    post("api:run-not-found", "R", fields(decision="confirm"), parts.not_found),
    post("api:run-not-found-undo", "R", given=parts.not_found_confirmed),
    get("api:run-record", MEMBERS),
    get("api:run-signing", MEMBERS),
    get("api:candidate-list", SIGNED_IN),
    get("api:candidate-detail", MEMBERS),
    post("api:candidate-adjudicate", "R", parts.other_role, parts.disputed),
    post("api:candidate-choose", "R", parts.other_role, parts.blind),
    get("api:candidate-receipt", MEMBERS),
    post("api:candidate-undo", "R", given=parts.decided_by_the_reviewer),
    get("api:review-list", SIGNED_IN),
    post("api:review-list", "R", parts.decision),
    get("api:review-detail", MEMBERS),
    get("api:audit-event-list", "DUduS!"),
    get("api:audit-event-detail", "DU"),
    get("api:signature-list", SIGNED_IN),
    post("api:signature-list", "R", parts.api_signature, parts.all_decided),
    get("api:signature-detail", MEMBERS),
    post("api:reopening-list", "RD", lambda scene: {"run": scene.run.pk, "reason": "New."}, parts.signed_run),
    get("api:queue-list", SIGNED_IN),
    get("api:queue-bulk", SIGNED_IN),
    post("api:queue-bulk", "R", parts.bulk, parts.clear_cut),
    post("api:queue-next", "R", given=parts.waiting),
    get("api:queue-detail", "R"),
    post("api:queue-claim", "R", given=parts.waiting),
    post("api:queue-hand-over", "RD", parts.hand_over, parts.claimed),
    post("api:queue-release", "RD", given=parts.claimed),
    post("api:queue-claim-run", "R", parts.run_named, parts.waiting),
    post("api:queue-release-run", "R", parts.run_named, parts.claimed),
    get("api:saved-view-list", SIGNED_IN),
    post("api:saved-view-list", SIGNED_IN, fields(name="Old ones", filters={"age": "7"})),
    get("api:saved-view-detail", "D"),  # the view is the admin's own
    post("api:saved-view-remove", "D"),
    get("api:comment-list", SIGNED_IN),
    post("api:comment-list", MEMBERS, lambda scene: {"run": scene.run.pk, "body": "Look."}),
    get("api:comment-detail", MEMBERS),
    get("api:notification-list", SIGNED_IN),
    post("api:notification-read", SIGNED_IN, given=parts.a_notification),
    get("api:notification-wish", SIGNED_IN),
    post("api:notification-wish", SIGNED_IN, fields(email="none")),
    get("api:language", SIGNED_IN),
    post("api:language", SIGNED_IN, fields(language="es")),
    get("api:vocabulary-list", SIGNED_IN),
    post("api:vocabulary-list", "RD", fields(collection="alpha", term="log", variant="journal")),
    get("api:vocabulary-detail", MEMBERS),
    post("api:vocabulary-approve", "RD"),
    post("api:vocabulary-reject", "RD"),
    get("api:question-set-list", SIGNED_IN),
    post("api:question-set-list", "ARD", fields(collection="alpha", name="More", questions=["Who signs?"])),
    get("api:question-set-detail", MEMBERS),
    post("api:question-set-change", "ARD", fields(questions=["Who signs?"])),
    get("api:round-list", SIGNED_IN),
    post(
        "api:round-list",
        "ARD",
        lambda scene: {
            "question_set": scene.round.question_set_id,
            "documents": [scene.document.pk],
            "strategy": "offline",
        },
    ),
    get("api:round-detail", MEMBERS),
    get("api:round-grid", MEMBERS),
    post("api:cell-retry", "ARD", given=parts.failed_cell),
    get("api:comparison-list", SIGNED_IN),
    post("api:comparison-list", "ARD", parts.comparison),
    get("api:comparison-detail", MEMBERS),
    get("api:comparison-candidates", MEMBERS),
    post("api:comparison-decide", "R", parts.compared),
    get("api:evaluation-list", SIGNED_IN),
    get("api:evaluation-detail", SIGNED_IN),
]

#: Nobody of the cast: a directory has a token of its own kind, without which no method says anything.
_SCIM_ADDRESSES = (
    *("configuration", "schemas", "schema", "resource-types", "resource-type"),
    *("users", "user", "groups", "group"),
)
SCIM: list[Row] = [
    Row(f"scim:{name}", method, "")
    for name in _SCIM_ADDRESSES
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
]

ROWS: list[Row] = [
    *(OPEN + DOCUMENTS + QUESTIONS + REVIEW + SETS),
    *(VOCABULARY + LABELLING + SETTINGS + MODELS + INSTALLATION),
    *(SCIM + EXPORTS + ARCHIVES + SOURCES + WEBHOOKS + API + API_LABELLING + API_ADMINISTRATION + API_MODELS),
]

#: Acts that ask who it is when that was shown longer ago: of administrators, and of keys for programs.
ASKS_AGAIN = frozenset(
    {
        *(
            "directory:groups",
            "directory:group-remove",
            "api:collection-groups",
            "api:collection-group-remove",
        ),
        *(f"accounts:{name}" for name in ("invite", "grant", "revoke", "invite-again")),
        *("tokens:tokens", "tokens:revoke"),
        *("documents:fields", "api:collection-field-add", "api:collection-field-remove"),
        *("documents:restrict", "api:document-restriction"),
        *("documents:delete", "documents:keep", "api:document-remove", "api:document-keep"),
        *(
            f"collection_settings:{name}"
            for name in ("change", "hold", "retention", "thresholds", "apply", "remove")
        ),
        *("api:collection-keeping", "api:collection-thresholds", "api:collection-remove-thresholds"),
        *("ops:risk-apply", "ops:risk-remove", "api:collection-apply-risk", "api:collection-remove-risk"),
        *("api:collection-settings", "api:collection-review-shares", "api:collection-people"),
        *(f"api:collection-person-{name}" for name in ("grant", "revoke", "invite")),
        *("archives:collection", "archives:take-in", "archives:fetch"),
        *("api:collection-archive-detail", "api:collection-archive-list"),
        *("review:policy", "models:roll-back", "models:schedule", "models:shadow"),
        *("api:model-roll-back", "api:model-shadow", "api:model-end-shadow", "api:training-schedule"),
        *("ops:stop", "ops:resume", "ops:mail-trial", "ops:budgets", "ops:prices", "ops:price-remove"),
        *("ops:endpoints", "api:language-models-endpoint-test"),
        *(f"api:language-models-{name}" for name in ("stop", "resume", "budgets", "prices", "price-remove")),
        *("sources:sources", "sources:switch"),
        *(f"api:source-{name}" for name in ("list", "pause", "resume", "remove")),
        *("webhooks:webhooks", "webhooks:change", "webhooks:secret", "webhooks:switch"),
        *(f"api:webhook-{name}" for name in ("list", "change", "secret", "pause", "resume", "remove")),
    }
)

#: Acts that only those who manage a collection or the installation may do, and that do not ask: each with the reason.
DOES_NOT_ASK: dict[str, str] = {
    **dict.fromkeys(
        ("sources:look", "sources:retry", "api:source-look", "api:source-file-retry"),
        "takes in what the source was set up to take in anyway",
    ),
    **dict.fromkeys(
        (
            *(
                f"labeling:{name}"
                for name in ("projects", "fill", "supply", "elusion", "guidelines", "open", "import")
            ),
            *(
                f"api:labeling-project-{name}"
                for name in ("list", "fill", "supply", "elusion", "guidelines", "open", "import")
            ),
            "api:labels-import",
        ),
        "the daily work of labelling: it adds, and takes away nothing",
    ),
    **dict.fromkeys(
        (
            *(f"webhooks:{name}" for name in ("test", "repeat-missed", "repeat")),
            *("api:webhook-test", "api:webhook-repeat-missed", "api:webhook-delivery-repeat"),
        ),
        "sends again what the receiver was to be told anyway",
    ),
    **dict.fromkeys(
        ("models:start", "models:cancel", "api:training-list", "api:training-cancel"),
        "the gate decides what serves, as it does for the schedule",
    ),
    **dict.fromkeys(("ops:jobs", "api:maintenance-list"), "completes or reads, and takes away nothing"),
    "archives:remove": "a copy that can be made again",
    **dict.fromkeys(
        ("ops:risk-compute", "api:collection-compute-risk"), "nothing is in use by a computation"
    ),
    "review:bulk-checks": "one's own bulk approval",
    **dict.fromkeys(("review:view-delete", "api:saved-view-remove"), "one's own view"),
}

#: One's own account (django-allauth). Nothing here is of a collection, and each person reaches their own alone.
OWN_ACCOUNT: list[Row] = [
    get("account_login", EVERYBODY),
    post("account_login", "?", fields(login="analyst@example.org", password=PASSWORD)),
    get("account_logout", EVERYBODY),
    post("account_logout", SIGNED_IN),
    get("account_inactive", EVERYBODY),
    get("account_signup", EVERYBODY),  # says that it is closed
    post(
        "account_signup",
        "",
        fields(email="new@example.org", password1=parts.OTHER_PASSWORD, password2=parts.OTHER_PASSWORD),
    ),
    get("account_reauthenticate", SIGNED_IN),
    post("account_reauthenticate", "", fields(password=PASSWORD)),  # changes the session alone
    get("account_email", SIGNED_IN),
    post(  # asks for the password first
        "account_email", "", fields(email="other@example.org", action_add=""), parts.address_known
    ),
    get("account_email_verification_sent", EVERYBODY),
    get("account_confirm_email", EVERYBODY),
    post("account_confirm_email", ""),
    get("account_change_password", SIGNED_IN),
    post(
        "account_change_password",
        SIGNED_IN,
        fields(oldpassword=PASSWORD, password1=parts.OTHER_PASSWORD, password2=parts.OTHER_PASSWORD),
    ),
    get("account_set_password", SIGNED_IN),
    post(  # only for who has none
        "account_set_password",
        "",
        fields(password1=parts.OTHER_PASSWORD, password2=parts.OTHER_PASSWORD),
    ),
    get("account_reset_password", EVERYBODY),
    post(  # sends a message
        "account_reset_password",
        "",
        fields(email="analyst@example.org"),
        parts.analysts_address_known,
    ),
    get("account_reset_password_done", EVERYBODY),
    get("account_reset_password_from_key", EVERYBODY),
    post(
        "account_reset_password_from_key",
        "",
        fields(password1=parts.OTHER_PASSWORD, password2=parts.OTHER_PASSWORD),
    ),
    get("account_reset_password_from_key_done", EVERYBODY),
    get("account_confirm_login_code", SIGNED_IN),  # leads home; nobody is sent a code
    post("account_confirm_login_code", ""),
    get("mfa_index", SIGNED_IN),
    get("mfa_authenticate", SIGNED_IN),  # leads home
    post("mfa_authenticate", "", fields(code="123456")),
    get("mfa_reauthenticate", SIGNED_IN),
    post("mfa_reauthenticate", "", fields(code="123456")),
    # Each of these asks for the password first.
    get("mfa_activate_totp", SIGNED_IN),
    post("mfa_activate_totp", "", fields(code="123456")),
    get("mfa_deactivate_totp", ""),  # only for who has one
    post("mfa_deactivate_totp", ""),
    get("mfa_view_recovery_codes", ""),
    get("mfa_generate_recovery_codes", SIGNED_IN),
    post("mfa_generate_recovery_codes", ""),
    get("mfa_download_recovery_codes", ""),
]

#: The admin site: staff see that it is there, superusers take a second factor away.
ADMIN_SITE: list[Row] = [
    get("admin:index", "S!"),
    get("admin:login", "S!"),  # leads on; others are sent to the door, members are refused
    post("admin:login", ""),
    post("admin:logout", "S!"),
    get("admin:password_change", "S!"),  # leads to one's own page
    post(
        "admin:password_change",
        "",
        fields(old_password=PASSWORD, new_password1=parts.OTHER_PASSWORD, new_password2=parts.OTHER_PASSWORD),
    ),
    get("admin:password_change_done", "S!"),
    get("admin:autocomplete", ""),
    get("admin:jsi18n", "S!"),
    get("admin:view_on_site", ""),
    get("admin:app_list", "!"),
    get("admin:mfa_authenticator_changelist", "!"),
    post(
        "admin:mfa_authenticator_changelist",
        "!",
        lambda scene: {
            "action": "delete_selected",
            "_selected_action": [a_second_factor()],
            "post": "yes",
        },
    ),
    get("admin:mfa_authenticator_add", ""),
    post("admin:mfa_authenticator_add", "", parts.another_factor),
    get("admin:mfa_authenticator_change", "!"),
    post("admin:mfa_authenticator_change", "", parts.another_factor),
    get("admin:mfa_authenticator_history", "!"),
    get("admin:mfa_authenticator_delete", "!"),
    post("admin:mfa_authenticator_delete", "!", fields(post="yes")),
    get("backdoor/mfa/authenticator/<path:object_id>/", "S!"),  # leads to the one before
    get("backdoor/(?P<url>.*)$", ""),
]

#: Of other packages, as far as they are part of every installation.
OTHERS = [*OWN_ACCOUNT, *ADMIN_SITE]

__all__ = ["ASKS_AGAIN", "DOES_NOT_ASK", "OTHERS", "ROLES", "ROWS"]
