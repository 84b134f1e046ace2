"""Django REST framework and its OpenAPI schema."""

from __future__ import annotations

from . import env

#: Requests to the API that one person may send in a minute, over all their programs; 0 for no limit.
API_REQUESTS_PER_MINUTE = env.integer("API_REQUESTS_PER_MINUTE", 1200)

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "workbench.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": ["workbench.api.throttling.PersonThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [
        "workbench.api.parsers.BoundedJSONParser",
        "rest_framework.parsers.MultiPartParser",
    ],
    "DEFAULT_SCHEMA_CLASS": "workbench.api.schema.OperationSchema",
    "DEFAULT_PAGINATION_CLASS": "workbench.api.pagination.IdCursorPagination",
    "DEFAULT_FILTER_BACKENDS": ["workbench.api.filtering.ListFilters"],
    "PAGE_SIZE": 50,
    "EXCEPTION_HANDLER": "workbench.infra.problems.problem_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Arbiter Workbench API",
    "DESCRIPTION": (
        "Ask questions of documents and defend every passage that was used or left out.\n\nThe `Location`"
        " header of a response holds the URL of a new resource. Send the `ETag` you read as `If-Match` "
        "with a change; the change is refused (412) if the resource has changed in the meantime. Send an "
        "`Idempotency-Key` with a POST that you may have to repeat. Lists accept the documented filters, "
        "`ordering`, `page_size` and `cursor`; unknown parameters and values are refused. Errors are "
        "problem details (RFC 9457)."
    ),
    "VERSION": "1.0.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "workbench.api.schema.describe_problems",
        "workbench.api.schema.describe_one_body",
    ],
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "CandidateRole": "workbench.runs.models.RoleChoice.choices",
        "MemberRole": "workbench.accounts.models.MemberRole.choices",
        "EntryKind": "workbench.synonyms.models.EntryKind.choices",
        "PairState": "workbench.labeling.models.PairState.choices",
        "PlaceState": "workbench.labeling.models.SlotState.choices",
        "ModelPlace": "workbench.rerankers.models.AliasName.choices",
        "WayOfComparison": "workbench.rerankers.models.Way.choices",
        "NotificationKind": "workbench.review.models.NotificationKind.choices",
        "WebhookState": "workbench.webhooks.models.WebhookState.choices",
        "SourceState": "workbench.sources.models.SourceState.choices",
        "SourceFileState": "workbench.sources.models.FileState.choices",
        "DeliveryState": "workbench.webhooks.models.DeliveryState.choices",
        "FieldKind": "workbench.documents.models.FieldKind.choices",
        "JobKind": "workbench.operations.models.JobKind.choices",
        "JobState": "workbench.operations.models.JobState.choices",
        "AttemptOutcome": "workbench.webhooks.models.Outcome.choices",
    },
}
