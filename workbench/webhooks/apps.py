from workbench.infra import subscriptions


class WebhooksConfig(subscriptions.SubscribingConfig):
    name = "workbench.webhooks"
