"""Addresses of operations; included at the root."""

from django.urls import path

from . import endpoint_views as endpoints
from . import job_views as jobs
from . import operations_views as views
from . import price_views as prices
from . import risk_views as risk

app_name = "ops"
urlpatterns = [
    path("operations/", views.operations, name="operations"),
    path("operations/stop/", views.stop, name="stop"),
    path("operations/resume/", views.resume, name="resume"),
    path("operations/mail/", views.mail_trial, name="mail-trial"),
    path("operations/maintenance/", jobs.jobs, name="jobs"),
    path("operations/budgets/", views.budgets, name="budgets"),
    path("operations/runs/<int:pk>/retry/", views.run_retry, name="run-retry"),
    path("tour/<int:number>/", views.tour, name="tour"),
    path("tour/end/", views.tour_over, name="tour-end"),
    path("trust/", views.trust, name="trust"),
    path("trust/progress/", views.progress, name="progress"),
    path("costs/", views.cost_page, name="costs"),
    path("costs.csv", views.cost_export, name="costs-export"),
    path("operations/endpoints/", endpoints.endpoints_page, name="endpoints"),
    path("operations/prices/", prices.prices_page, name="prices"),
    path("operations/prices/remove/", prices.remove, name="price-remove"),
    path("collections/<slug:slug>/settings/risk/", risk.risk, name="risk"),
    path("collections/<slug:slug>/settings/risk/compute/", risk.compute, name="risk-compute"),
    path("collections/<slug:slug>/settings/risk/apply/", risk.apply, name="risk-apply"),
    path("collections/<slug:slug>/settings/risk/remove/", risk.remove, name="risk-remove"),
    path("prompts/", views.prompt_pages, name="prompts"),
]
