"""The API does everything that the pages do: each act of a page, and the address of the API that does the same.

An act is an address outside ``/api/`` and the admin site that takes POST. Which those are, the rows of the
authorisation matrix say; its own tests fail for an address that takes a method without having a row. A new act fails
here until its row names an address of the API, or a reason why a program needs none.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.workbench.authorisation.rows import OTHERS, ROWS

#: The same act by the API; several addresses where one form of the page holds several acts.
BY_THE_API: dict[str, tuple[str, ...]] = {
    # documents and questions
    "documents:collections": ("api:collection-list",),
    "documents:upload": ("api:document-list", "api:document-archive"),
    "documents:retry": ("api:document-retry",),
    "documents:cancel": ("api:document-cancel",),
    "documents:delete": ("api:document-remove",),
    "documents:keep": ("api:document-keep",),
    "documents:restrict": ("api:document-restriction",),
    "documents:describe": ("api:document-describe",),
    "documents:bulk": ("api:collection-describe-documents",),
    "documents:fields": ("api:collection-field-add", "api:collection-field-remove"),
    "documents:version-decide": ("api:document-version-decision",),
    "questions:ask": ("api:question-list",),
    "questions:cancel": ("api:run-cancel",),
    "questions:rerun": ("api:question-list",),  # with ``keywords`` or ``criteria``
    "questions:compare": ("api:comparison-list",),
    "questions:comparison-decide": ("api:comparison-decide",),
    "question_sets:sets": ("api:question-set-list",),
    "question_sets:change": ("api:question-set-change",),
    "question_sets:start": ("api:round-list",),
    "question_sets:retry": ("api:cell-retry",),
    "vocabulary:vocabulary": ("api:vocabulary-list",),
    "vocabulary:import": ("api:vocabulary-list",),  # an entry a request
    "vocabulary:decide": ("api:vocabulary-approve", "api:vocabulary-reject"),
    # review
    "review:next": ("api:queue-next",),
    "review:bulk": ("api:queue-bulk",),
    "review:bulk-checks": ("api:queue-bulk",),
    "review:view-save": ("api:saved-view-list",),
    "review:view-delete": ("api:saved-view-remove",),
    "review:claim": ("api:queue-claim",),
    "review:release": ("api:queue-release",),
    "review:claim-run": ("api:queue-claim-run",),
    "review:release-run": ("api:queue-release-run",),
    "review:hand-over": ("api:queue-hand-over",),
    "review:policy": ("api:collection-review-shares",),
    "review:approve": ("api:review-list",),
    "review:override": ("api:review-list",),
    "review:unsure": ("api:review-list",),
    "review:choose": ("api:candidate-choose",),
    "review:adjudicate": ("api:candidate-adjudicate",),
    "review:undo": ("api:candidate-undo",),
    "review:not-found": ("api:run-not-found",),
    "review:not-found-undo": ("api:run-not-found-undo",),
    "review:lines": ("api:run-evidence",),
    "review:regenerate": ("api:run-answer",),
    "review:against": ("api:run-again",),
    "review:comment": ("api:comment-list",),
    "review:notifications": ("api:notification-wish",),
    "review:notification-read": ("api:notification-read",),
    "review:sign": ("api:signature-list",),
    "review:reopen": ("api:reopening-list",),
    # labelling
    "labeling:projects": ("api:labeling-project-list",),
    "labeling:fill": ("api:labeling-project-fill",),
    "labeling:supply": ("api:labeling-project-supply",),
    "labeling:elusion": ("api:labeling-project-elusion",),
    "labeling:guidelines": ("api:labeling-project-guidelines",),
    "labeling:import": ("api:labeling-project-import", "api:labels-import"),
    "labeling:open": ("api:labeling-project-open",),
    "labeling:work": ("api:labeling-project-next",),
    "labeling:undo": ("api:labeling-project-undo",),
    "labeling:answer": ("api:labeling-desk-answer",),
    "labeling:pass": ("api:labeling-desk-pass-over",),
    "labeling:release": ("api:labeling-desk-release",),
    "labeling:dispute": ("api:dispute-adjudicate", "api:dispute-set-aside"),
    # a collection
    "collection_settings:change": ("api:collection-settings",),
    "collection_settings:hold": ("api:collection-keeping",),
    "collection_settings:retention": ("api:collection-keeping",),
    "collection_settings:thresholds": ("api:collection-thresholds",),
    "collection_settings:apply": ("api:collection-thresholds",),
    "collection_settings:remove": ("api:collection-remove-thresholds",),
    "ops:risk-compute": ("api:collection-compute-risk",),
    "ops:risk-apply": ("api:collection-apply-risk",),
    "ops:risk-remove": ("api:collection-remove-risk",),
    "directory:groups": ("api:collection-groups",),
    "directory:group-remove": ("api:collection-group-remove",),
    "accounts:invite": ("api:collection-people",),
    "accounts:grant": ("api:collection-person-grant",),
    "accounts:revoke": ("api:collection-person-revoke",),
    "accounts:invite-again": ("api:collection-person-invite",),
    "exports:exports": ("api:export-list",),
    "exports:run": ("api:export-list",),
    "exports:report": ("api:export-list",),  # with ``kind`` "report"
    "exports:links": ("api:report-link-list",),
    "exports:link-revoke": ("api:report-link-revoke",),
    "archives:sent": ("api:collection-archive-list",),
    "archives:take-in": ("api:collection-archive-list",),
    "sources:sources": ("api:source-list",),
    "sources:switch": ("api:source-pause", "api:source-resume", "api:source-remove"),
    "sources:look": ("api:source-look",),
    "sources:retry": ("api:source-file-retry",),
    "webhooks:webhooks": ("api:webhook-list",),
    "webhooks:change": ("api:webhook-change",),
    "webhooks:secret": ("api:webhook-secret",),
    "webhooks:switch": ("api:webhook-pause", "api:webhook-resume", "api:webhook-remove"),
    "webhooks:test": ("api:webhook-test",),
    "webhooks:repeat-missed": ("api:webhook-repeat-missed",),
    "webhooks:repeat": ("api:webhook-delivery-repeat",),
    # the installation, and oneself
    "ops:stop": ("api:language-models-stop",),
    "ops:resume": ("api:language-models-resume",),
    "ops:budgets": ("api:language-models-budgets",),
    "ops:endpoints": ("api:language-models-endpoint-test",),
    "ops:prices": ("api:language-models-prices",),
    "ops:price-remove": ("api:language-models-price-remove",),
    "ops:run-retry": ("api:run-again",),
    "audit:anchor": ("api:audit-event-anchor",),
    "ops:jobs": ("api:maintenance-list",),
    "audit:verify": ("api:audit-event-verify",),
    "set_language": ("api:language",),
    "models:start": ("api:training-list",),
    "models:schedule": ("api:training-schedule",),
    "models:roll-back": ("api:model-roll-back",),
    "models:shadow": ("api:model-shadow", "api:model-end-shadow"),
    "models:cancel": ("api:training-cancel",),
}

SIGNING_IN = "signing in and out: a program comes with its key, and no request of it opens a session"
ONES_OWN_ACCOUNT = (
    "one's own password, addresses and second factors: a key may not change what it was made with"
)
NOT_BY_THE_API: dict[str, str] = {
    "archives:collection": "the archive is the answer to a GET of the API, with nothing to prepare and wait for",
    "archives:remove": "the API leaves no copy of an archive behind that could be removed",
    "tokens:tokens": "a key is made in person, behind a password: none makes another that outlives it",
    "tokens:revoke": "keys are revoked where they are made, in person: one that leaked cannot lock out the others",
    "ops:tour-end": "the tour leads a person from page to page; a program is shown nothing by it",
    "ops:mail-trial": "the mail goes to the person at the screen, who looks whether it came",
    **dict.fromkeys(
        (
            *("account_login", "account_logout", "account_signup", "account_confirm_login_code"),
            *("account_reauthenticate", "mfa_authenticate", "mfa_reauthenticate"),
        ),
        SIGNING_IN,
    ),
    **dict.fromkeys(
        (
            *("account_email", "account_confirm_email", "account_change_password", "account_set_password"),
            *("account_reset_password", "account_reset_password_from_key"),
            *("mfa_activate_totp", "mfa_deactivate_totp", "mfa_generate_recovery_codes"),
        ),
        ONES_OWN_ACCOUNT,
    ),
}

POSTS = {row.name for row in [*ROWS, *OTHERS] if row.method == "POST"}
BY_PROGRAMS = {name for name in POSTS if name.startswith("api:")}
#: SCIM is for directories, with a token of its own kind (tests/workbench/directory).
#: The admin site takes second factors away from those who lost them: by an administrator, at a screen.
OF_PAGES = {name for name in POSTS - BY_PROGRAMS if not name.startswith(("admin:", "backdoor/", "scim:"))}


def wrong(
    by_the_api: Mapping[str, tuple[str, ...]],
    reasons: Mapping[str, str],
    *,
    pages: set[str],
    programs: set[str],
) -> list[str]:
    """What is wrong with a table of these rows, in words."""
    rows = {*by_the_api, *reasons}
    return [
        *(f"{name} has no row: name its address of the API, or say why not" for name in pages - rows),
        *(f"{name} is no address of a page that takes POST" for name in rows - pages),
        *(f"{name} has two rows" for name in by_the_api.keys() & reasons.keys()),
        *(f"{name} names no address of the API" for name, routes in by_the_api.items() if not routes),
        *(
            f"{name}: {route} is no address of the API that takes POST"
            for name, routes in by_the_api.items()
            for route in routes
            if route not in programs
        ),
        *(f"{name} gives no reason" for name, reason in reasons.items() if len(reason.split()) < 3),
    ]


def test_every_act_of_a_page_is_one_of_the_api_or_says_why_not() -> None:
    assert wrong(BY_THE_API, NOT_BY_THE_API, pages=OF_PAGES, programs=BY_PROGRAMS) == []


@pytest.mark.parametrize(
    ("by_the_api", "reasons", "said"),
    [
        ({"page:do": ("api:do",)}, {}, []),
        ({}, {"page:do": "done in person alone"}, []),
        ({}, {}, ["page:do has no row: name its address of the API, or say why not"]),
        ({"page:do": ()}, {}, ["page:do names no address of the API"]),
        (
            {"page:do": ("api:do", "api:old")},
            {},
            ["page:do: api:old is no address of the API that takes POST"],
        ),
        (
            {"page:do": ("api:do",), "page:old": ("api:do",)},
            {},
            ["page:old is no address of a page that takes POST"],
        ),
        ({}, {"page:do": " "}, ["page:do gives no reason"]),
        ({"page:do": ("api:do",)}, {"page:do": "done in person alone"}, ["page:do has two rows"]),
    ],
)
def test_a_row_that_is_missing_or_names_nothing_is_told(
    by_the_api: dict[str, tuple[str, ...]], reasons: dict[str, str], said: list[str]
) -> None:
    assert wrong(by_the_api, reasons, pages={"page:do"}, programs={"api:do"}) == said
