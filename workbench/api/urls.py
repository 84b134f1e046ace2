"""Addresses of the API."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.routers import DefaultRouter

from . import review_views, views

router = DefaultRouter()
router.include_root_view = False
router.register("collections", views.CollectionViewSet, basename="collection")
router.register("documents", views.DocumentViewSet, basename="document")
router.register("questions", views.QuestionViewSet, basename="question")
router.register("runs", views.RunViewSet, basename="run")
router.register("candidates", views.CandidateViewSet, basename="candidate")
router.register("reviews", views.ReviewViewSet, basename="review")
router.register("signatures", review_views.SignatureViewSet, basename="signature")
router.register("reopenings", review_views.ReopeningViewSet, basename="reopening")

app_name = "api"
urlpatterns = [
    path("", include(router.urls)),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
]
