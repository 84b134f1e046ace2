from workbench.infra import subscriptions


class RerankersConfig(subscriptions.SubscribingConfig):
    name = "workbench.rerankers"
    label = "models_registry"  # of the tables and migrations, from before the app was named rerankers
