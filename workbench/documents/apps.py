from workbench.infra import subscriptions


class DocumentsConfig(subscriptions.SubscribingConfig):
    name = "workbench.documents"
    label = "documents"
