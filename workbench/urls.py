"""Every address of the product."""

from __future__ import annotations

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

from workbench.documents import urls as documents_urls
from workbench.operations import views as operations_views
from workbench.people.views import choose_language
from workbench.review import run_urls, version_urls
from workbench.runs import urls as runs_urls

# Administrators come in by the door that asks for the second factor.
admin.site.login = secure_admin_login(admin.site.login)

urlpatterns = [
    path("", operations_views.home, name="home"),
    path("", include(([*documents_urls.urlpatterns, *version_urls.urlpatterns], "documents"))),
    path("", include(([*run_urls.urlpatterns, *runs_urls.urlpatterns], "questions"))),
    path("", include("workbench.review.urls")),
    path("", include("workbench.checklists.urls")),
    path("", include("workbench.synonyms.urls")),
    path("", include("workbench.labeling.urls")),
    path("", include("workbench.collection_settings.urls")),
    path("", include("workbench.rerankers.urls")),
    path("", include("workbench.exports.urls")),
    path("", include("workbench.archives.urls")),
    path("", include("workbench.webhooks.urls")),
    path("", include("workbench.sources.urls")),
    path("", include("workbench.people.urls")),
    path("", include("workbench.directory.urls")),
    path("", include("workbench.operations.urls")),
    path("", include("workbench.api.token_pages")),
    path("audit/", include("workbench.trail.urls")),
    path("search/", include("workbench.search.urls")),
    path("api/v1/", include("workbench.api_urls")),
    path("scim/v2/", include("workbench.directory.scim_urls")),
    path("accounts/", include("allauth.urls")),
    path("i18n/", choose_language, name="set_language"),
    path("backdoor/", admin.site.urls),
    path("healthz", operations_views.healthz, name="healthz"),
    path("readyz", operations_views.readyz, name="readyz"),
    path("metrics", operations_views.metrics, name="metrics"),
]

# Pages for people; for programs the same as problem+json.
handler400 = "workbench.infra.problems.bad_request"
handler403 = "workbench.infra.problems.forbidden"
handler404 = "workbench.infra.problems.not_found"
handler500 = "workbench.infra.problems.server_error"
