"""What a page shows, a program reads: each page, and the addresses of the API that give the same.

Which pages there are, the rows of the authorisation matrix say. A new page fails here until it has a row, or a reason
why a program needs none. What pages do is compared in ``test_parity.py``.
"""

from __future__ import annotations

from tests.workbench.authorisation.rows import OTHERS, ROWS

READ_BY_THE_API: dict[str, tuple[str, ...]] = {
    # documents and questions
    "documents:collections": ("api:collection-list",),
    "documents:collection": ("api:collection-detail", "api:document-list"),
    "documents:document": (
        *("api:document-detail", "api:document-outline", "api:document-page", "api:document-find"),
        *("api:document-alike", "api:document-deletion", "api:document-restriction"),
    ),
    "documents:status": ("api:document-detail",),
    "documents:original": ("api:document-original",),
    "documents:page-image": ("api:document-page-image",),
    "documents:page-picture": ("api:document-page-image",),
    "documents:beside": ("api:document-beside",),
    "documents:citation": ("api:document-citation",),
    "documents:versions": ("api:document-versions", "api:document-beside"),
    "documents:restrict": ("api:document-restriction", "api:collection-people"),
    "documents:fields": ("api:collection-fields",),
    "search:search": ("api:search-list",),
    "questions:ask": ("api:question-estimate", "api:document-list", "api:collection-list"),
    "questions:runs": ("api:run-list",),
    "questions:run": (
        "api:run-detail",
        "api:run-answer",
        "api:candidate-list",
        "api:run-record",
        "api:run-events",
    ),
    "questions:record": ("api:run-record",),
    "questions:evidence": ("api:candidate-detail", "api:document-page"),
    "questions:strategies": ("api:evaluation-list", "api:evaluation-detail"),
    "questions:compare": ("api:comparison-list",),
    "questions:comparison": ("api:comparison-detail", "api:comparison-candidates"),
    # review
    "review:queue": ("api:queue-list", "api:saved-view-list"),
    "review:item": ("api:queue-detail", "api:candidate-detail"),
    "review:claims": ("api:queue-list",),
    "review:bulk": ("api:queue-bulk",),
    "review:hand-over": ("api:queue-detail", "api:collection-people"),
    "review:policy": ("api:collection-review-shares",),
    "review:documents": ("api:document-list",),
    "review:lines": ("api:document-page",),
    "review:receipt": ("api:candidate-receipt",),
    "review:receipt-json": ("api:candidate-receipt",),
    "review:as-of": ("api:run-as-of",),
    "review:sign": ("api:run-signing", "api:signature-list"),
    "review:notifications": ("api:notification-list", "api:notification-wish"),
    "question_sets:sets": ("api:question-set-list",),
    "question_sets:set": ("api:question-set-detail", "api:question-set-coverage"),
    "question_sets:round": ("api:round-detail", "api:round-grid"),
    "vocabulary:vocabulary": ("api:vocabulary-list",),
    "vocabulary:export": ("api:vocabulary-list",),
    # labels and models
    "labeling:projects": ("api:labeling-project-list",),
    "labeling:project": ("api:labeling-project-detail", "api:labeling-project-guidelines"),
    "labeling:work": ("api:labeling-desk-detail",),
    "labeling:adjudication": ("api:dispute-list",),
    "labeling:dispute": ("api:dispute-detail",),
    "labeling:agreement": ("api:labels-agreement",),
    "labeling:export": ("api:labels-export",),
    "models:models": ("api:model-list", "api:model-serving", "api:model-move-list"),
    "models:version": ("api:model-detail", "api:model-labels"),
    "models:label": ("api:model-list",),  # with ``label``
    "models:training": ("api:training-detail",),
    "models:progress": ("api:training-detail",),
    "models:plan": ("api:training-plan", "api:training-schedule"),
    "models:drift": ("api:drift",),
    # what goes out and comes in
    "exports:exports": ("api:export-list",),
    "exports:export": ("api:export-detail",),
    "exports:fetch": ("api:export-file",),
    "exports:report": ("api:period-report-list",),
    "exports:links": ("api:report-link-list",),
    "archives:fetch": ("api:collection-archive-detail",),
    "sources:sources": ("api:source-list",),
    "sources:source": ("api:source-detail", "api:source-file-list"),
    "webhooks:webhooks": ("api:webhook-list",),
    "webhooks:webhook": ("api:webhook-detail", "api:webhook-delivery-list"),
    # the collection, the installation, and oneself
    "collection_settings:settings": (
        *("api:collection-settings", "api:collection-thresholds", "api:collection-threshold-proposals"),
        "api:collection-keeping",
    ),
    "accounts:people": ("api:collection-people",),
    "directory:groups": ("api:collection-groups",),
    "audit:trail": ("api:audit-event-list", "api:audit-event-detail"),
    "ops:operations": ("api:language-models", "api:run-list", "api:document-list"),
    "ops:jobs": ("api:maintenance-list", "api:maintenance-detail"),
    "ops:costs": ("api:costs",),
    "ops:costs-export": ("api:costs",),
    "ops:prices": ("api:language-models-prices",),
    "ops:endpoints": ("api:language-models-endpoints",),
    "ops:prompts": ("api:prompt-list", "api:prompt-detail"),
    "ops:progress": ("api:collection-progress",),
    "ops:risk": ("api:collection-risk",),
    "ops:trust": ("api:collection-trust",),
    "tokens:documentation": ("api:schema",),
}

SIGNING_IN = "a page of signing in, or of one's own account: a program comes with its key"
AN_ARCHIVE = "the API gives an archive at once and takes one in one request, with nothing to wait for"
NOT_BY_THE_API: dict[str, str] = {
    "home": "a person's way to their work; the lists it counts have addresses of their own",
    "styleguide": "parts of pages, only where the product is developed",
    "healthz": "asked by machines as it is",
    "readyz": "asked by machines as it is",
    "metrics": "asked by machines as it is",
    "exports:shared": "an outsider's page of one report, opened by a link instead of a key",
    "question_sets:export": "a file for people; a program reads the same cells as the grid of the round",
    "review:against": "a program that compares two runs reads the record of each",
    "review:bulk-checks": "the cards that a person decides one by one before the rest of their bulk approval",
    "labeling:corrected": "feedback to the person who labelled, whose program labels nothing",
    "ops:tour": "the tour leads a person from page to page; a program is shown nothing by it",
    "tokens:tokens": "a key is made in person, behind a password: none reads the others",
    **dict.fromkeys(("archives:archive", "archives:collection", "archives:sent"), AN_ARCHIVE),
}

GETS = {row.name for row in [*ROWS, *OTHERS] if row.method == "GET"}
BY_PROGRAMS = {name for name in GETS if name.startswith("api:")}
#: SCIM is for directories; the admin site is for administrators at a screen.
OF_PAGES = {name for name in GETS - BY_PROGRAMS if not name.startswith(("admin:", "backdoor/", "scim:"))}


def test_every_page_is_read_by_the_api_or_says_why_not() -> None:
    ones_own = {name: SIGNING_IN for name in OF_PAGES if name.startswith(("account_", "mfa_"))}
    reasons = NOT_BY_THE_API | ones_own
    assert OF_PAGES - READ_BY_THE_API.keys() - reasons.keys() == set(), "a page without a row"
    assert (READ_BY_THE_API.keys() | reasons.keys()) - OF_PAGES == set(), "a row without a page"
    assert READ_BY_THE_API.keys() & reasons.keys() == set(), "a page with two rows"
    named = {route for routes in READ_BY_THE_API.values() for route in routes}
    assert named - BY_PROGRAMS == set(), "no address of the API that is read"
    assert all(READ_BY_THE_API.values())
    assert all(len(reason.split()) > 3 for reason in reasons.values())
