"""Addresses of decisions and the queue."""

from django.urls import path

from . import as_of_views, comment_views, evidence_views, queue_views, receipt_views, signing_views, views

app_name = "review"
urlpatterns = [
    path("queue/", queue_views.queue_list, name="queue"),
    path("queue/next/", queue_views.queue_next, name="next"),
    path("queue/claims/", queue_views.claims, name="claims"),
    path("queue/bulk/", queue_views.bulk_approval, name="bulk"),
    path("queue/bulk/<int:pk>/", queue_views.bulk_checks, name="bulk-checks"),
    path("queue/views/", queue_views.view_save, name="view-save"),
    path("queue/views/<int:pk>/delete/", queue_views.view_delete, name="view-delete"),
    path("queue/<int:pk>/", queue_views.queue_item, name="item"),
    path("queue/<int:pk>/claim/", queue_views.queue_claim, name="claim"),
    path("queue/<int:pk>/release/", queue_views.queue_release, name="release"),
    path("queue/<int:pk>/hand-over/", queue_views.queue_hand_over, name="hand-over"),
    path("queue/runs/<int:pk>/claim/", queue_views.run_claim, name="claim-run"),
    path("queue/runs/<int:pk>/release/", queue_views.run_release, name="release-run"),
    path("collections/<slug:slug>/review/", queue_views.policy_edit, name="policy"),
    path("candidates/<int:pk>/approve/", views.approve, name="approve"),
    path("candidates/<int:pk>/override/", views.override, name="override"),
    path("candidates/<int:pk>/unsure/", views.unsure, name="unsure"),
    path("candidates/<int:pk>/choose/", views.choose, name="choose"),
    path("candidates/<int:pk>/adjudicate/", views.adjudicate, name="adjudicate"),
    path("candidates/<int:pk>/undo/", views.undo, name="undo"),
    path("runs/<int:pk>/not-found/", views.not_found, name="not-found"),
    path("runs/<int:pk>/not-found/undo/", views.not_found_undo, name="not-found-undo"),
    path("runs/<int:pk>/lines/", evidence_views.documents, name="documents"),
    path("runs/<int:pk>/lines/<int:document>/", evidence_views.lines, name="lines"),
    path("runs/<int:pk>/answer/", evidence_views.regenerate, name="regenerate"),
    path("runs/<int:pk>/against/", receipt_views.against, name="against"),
    path("candidates/<int:pk>/receipt/", receipt_views.receipt, name="receipt"),
    path("candidates/<int:pk>/receipt.json", receipt_views.receipt_json, name="receipt-json"),
    path("runs/<int:pk>/comments/", comment_views.comment, name="comment"),
    path("runs/<int:pk>/as-of/", as_of_views.as_of, name="as-of"),
    path("notifications/", comment_views.notification_list, name="notifications"),
    path("notifications/read/", comment_views.notification_read, name="notification-read"),
    path("runs/<int:pk>/sign/", signing_views.sign, name="sign"),
    path("runs/<int:pk>/reopen/", signing_views.reopen, name="reopen"),
]
