from workbench.infra import subscriptions


class WebhooksConfig(subscriptions.SubscribingConfig):
    """Webhooks."""

    name = "workbench.webhooks"
