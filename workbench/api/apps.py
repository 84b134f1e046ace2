from workbench.infra import subscriptions


class ApiConfig(subscriptions.SubscribingConfig):
    name = "workbench.api"
    label = "api"
