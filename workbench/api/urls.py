"""Addresses of the API."""

from __future__ import annotations

from django.urls import include, path
from rest_framework.routers import DefaultRouter

from . import (
    account_views,
    archive_views,
    audit_views,
    comparison_views,
    control_views,
    cost_views,
    export_views,
    labeling_views,
    model_views,
    price_views,
    prompt_views,
    question_set_views,
    queue_views,
    review_views,
    saved_view_views,
    views,
    vocabulary_views,
    webhook_views,
)
from .description import DescriptionView

router = DefaultRouter()
router.include_root_view = False
router.register("collections", views.CollectionViewSet, basename="collection")
router.register("collection-archives", archive_views.CollectionArchiveViewSet, basename="collection-archive")
router.register("documents", views.DocumentViewSet, basename="document")
router.register("questions", views.QuestionViewSet, basename="question")
router.register("runs", views.RunViewSet, basename="run")
router.register("candidates", views.CandidateViewSet, basename="candidate")
router.register("reviews", views.ReviewViewSet, basename="review")
router.register("signatures", review_views.SignatureViewSet, basename="signature")
router.register("queue", queue_views.QueueViewSet, basename="queue")
router.register("comments", queue_views.CommentViewSet, basename="comment")
router.register("notifications", queue_views.NotificationViewSet, basename="notification")
router.register("reopenings", review_views.ReopeningViewSet, basename="reopening")
router.register("vocabulary", vocabulary_views.VocabularyViewSet, basename="vocabulary")
router.register("question-sets", question_set_views.QuestionSetViewSet, basename="question-set")
router.register("rounds", question_set_views.RoundViewSet, basename="round")
router.register("cells", question_set_views.CellViewSet, basename="cell")
router.register("labeling-projects", labeling_views.LabelingProjectViewSet, basename="labeling-project")
router.register("labeling-desk", labeling_views.DeskViewSet, basename="labeling-desk")
router.register("disputes", labeling_views.DisputeViewSet, basename="dispute")
router.register("labels", labeling_views.CollectionLabelViewSet, basename="labels")
router.register("comparisons", comparison_views.ComparisonViewSet, basename="comparison")
router.register("evaluations", comparison_views.EvaluationViewSet, basename="evaluation")
router.register("audit-events", audit_views.AuditEventViewSet, basename="audit-event")
router.register("exports", export_views.ExportViewSet, basename="export")
router.register("webhooks", webhook_views.WebhookViewSet, basename="webhook")
router.register("webhook-deliveries", webhook_views.WebhookDeliveryViewSet, basename="webhook-delivery")
router.register("saved-views", saved_view_views.SavedViewViewSet, basename="saved-view")
router.register("prompts", prompt_views.PromptViewSet, basename="prompt")
router.register("models", model_views.ModelViewSet, basename="model")
router.register("model-moves", model_views.MoveViewSet, basename="model-move")
router.register("trainings", model_views.TrainingViewSet, basename="training")

_models = control_views.LanguageModelsViewSet
_prices = price_views.ModelPriceViewSet

app_name = "api"
urlpatterns = [
    path("language-models/", _models.as_view({"get": "state"}), name="language-models"),
    path("language-models/stop/", _models.as_view({"post": "stop"}), name="language-models-stop"),
    path("language-models/resume/", _models.as_view({"post": "resume"}), name="language-models-resume"),
    path("language-models/budgets/", _models.as_view({"post": "budgets"}), name="language-models-budgets"),
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
        model_views.ScheduleViewSet.as_view({"get": "state", "post": "change"}),
        name="training-schedule",
    ),
    path("drift/", model_views.DriftViewSet.as_view({"get": "figures"}), name="drift"),
    path("costs/", cost_views.CostViewSet.as_view({"get": "month"}), name="costs"),
    path(
        "language/",
        account_views.LanguageViewSet.as_view({"get": "state", "post": "choose"}),
        name="language",
    ),
    path("", include(router.urls)),
    path("schema/", DescriptionView.as_view(), name="schema"),
]
