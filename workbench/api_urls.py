"""Addresses of the API."""

from __future__ import annotations

from django.urls import include, path
from rest_framework.routers import DefaultRouter

from workbench.api.description import DescriptionView
from workbench.archives import api as archives
from workbench.checklists import api as checklists
from workbench.collection_settings.api import CollectionSettingsActions
from workbench.collection_settings.threshold_api import CollectionThresholdActions
from workbench.directory.api import CollectionGroupActions
from workbench.documents import api as documents
from workbench.exports import api as exports
from workbench.exports import report_api as reports
from workbench.labeling import api as labeling
from workbench.operations import control_api, cost_api, endpoint_api, job_api, price_api, prompt_api
from workbench.operations.progress_api import CollectionProgressActions
from workbench.operations.risk_api import CollectionRiskActions
from workbench.operations.trust_api import CollectionTrustActions
from workbench.people import api as people
from workbench.rerankers import api as rerankers
from workbench.review import api as review
from workbench.review import comment_api, comparison_api, queue_api, saved_view_api, signing_api
from workbench.review.policy_api import CollectionPolicyActions
from workbench.search.api import SearchViewSet
from workbench.sources import api as sources
from workbench.synonyms import api as synonyms
from workbench.trail import api as trail
from workbench.webhooks import api as webhooks


# Several apps have acts at the address of a collection; they meet above them all.
class CollectionViewSet(
    people.CollectionPeopleActions,
    CollectionGroupActions,
    CollectionSettingsActions,
    CollectionThresholdActions,
    CollectionPolicyActions,
    CollectionTrustActions,
    CollectionProgressActions,
    CollectionRiskActions,
    documents.CollectionViewSet,
):
    """Collections the caller belongs to."""


router = DefaultRouter()
router.include_root_view = False
router.register("collections", CollectionViewSet, basename="collection")
router.register("collection-archives", archives.CollectionArchiveViewSet, basename="collection-archive")
router.register("documents", documents.DocumentViewSet, basename="document")
router.register("search", SearchViewSet, basename="search")
router.register("questions", review.QuestionViewSet, basename="question")
router.register("runs", review.RunViewSet, basename="run")
router.register("candidates", review.CandidateViewSet, basename="candidate")
router.register("reviews", review.ReviewViewSet, basename="review")
router.register("signatures", signing_api.SignatureViewSet, basename="signature")
router.register("queue", queue_api.QueueViewSet, basename="queue")
router.register("comments", comment_api.CommentViewSet, basename="comment")
router.register("notifications", comment_api.NotificationViewSet, basename="notification")
router.register("reopenings", signing_api.ReopeningViewSet, basename="reopening")
router.register("vocabulary", synonyms.VocabularyViewSet, basename="vocabulary")
router.register("question-sets", checklists.QuestionSetViewSet, basename="question-set")
router.register("rounds", checklists.RoundViewSet, basename="round")
router.register("cells", checklists.CellViewSet, basename="cell")
router.register("labeling-projects", labeling.LabelingProjectViewSet, basename="labeling-project")
router.register("labeling-desk", labeling.DeskViewSet, basename="labeling-desk")
router.register("disputes", labeling.DisputeViewSet, basename="dispute")
router.register("labels", labeling.CollectionLabelViewSet, basename="labels")
router.register("comparisons", comparison_api.ComparisonViewSet, basename="comparison")
router.register("evaluations", comparison_api.EvaluationViewSet, basename="evaluation")
router.register("audit-events", trail.AuditEventViewSet, basename="audit-event")
router.register("exports", exports.ExportViewSet, basename="export")
router.register("period-reports", reports.PeriodReportViewSet, basename="period-report")
router.register("report-links", reports.ReportLinkViewSet, basename="report-link")
router.register("sources", sources.SourceViewSet, basename="source")
router.register("source-files", sources.SourceFileViewSet, basename="source-file")
router.register("webhooks", webhooks.WebhookViewSet, basename="webhook")
router.register("webhook-deliveries", webhooks.WebhookDeliveryViewSet, basename="webhook-delivery")
router.register("saved-views", saved_view_api.SavedViewViewSet, basename="saved-view")
router.register("maintenance", job_api.JobViewSet, basename="maintenance")
router.register("prompts", prompt_api.PromptViewSet, basename="prompt")
router.register("models", rerankers.ModelViewSet, basename="model")
router.register("model-moves", rerankers.MoveViewSet, basename="model-move")
router.register("trainings", rerankers.TrainingViewSet, basename="training")

_models = control_api.LanguageModelsViewSet
_endpoints = endpoint_api.EndpointViewSet
_prices = price_api.ModelPriceViewSet

app_name = "api"
urlpatterns = [
    path("language-models/", _models.as_view({"get": "state"}), name="language-models"),
    path("language-models/stop/", _models.as_view({"post": "stop"}), name="language-models-stop"),
    path("language-models/resume/", _models.as_view({"post": "resume"}), name="language-models-resume"),
    path("language-models/budgets/", _models.as_view({"post": "budgets"}), name="language-models-budgets"),
    path(
        "language-models/endpoints/",
        _endpoints.as_view({"get": "state"}),
        name="language-models-endpoints",
    ),
    path(
        "language-models/endpoints/test/",
        _endpoints.as_view({"post": "trial"}),
        name="language-models-endpoint-test",
    ),
    path(
        "language-models/prices/",
        _prices.as_view({"get": "state", "post": "change"}),
        name="language-models-prices",
    ),
    path(
        "language-models/prices/remove/",
        _prices.as_view({"post": "remove"}),
        name="language-models-price-remove",
    ),
    path(
        "training-schedule/",
        rerankers.ScheduleViewSet.as_view({"get": "state", "post": "change"}),
        name="training-schedule",
    ),
    path("drift/", rerankers.DriftViewSet.as_view({"get": "figures"}), name="drift"),
    path("costs/", cost_api.CostViewSet.as_view({"get": "month"}), name="costs"),
    path(
        "language/",
        people.LanguageViewSet.as_view({"get": "state", "post": "choose"}),
        name="language",
    ),
    path("", include(router.urls)),
    path("schema/", DescriptionView.as_view(), name="schema"),
]
