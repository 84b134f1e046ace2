from django.apps import AppConfig


class QuestionsConfig(AppConfig):
    name = "workbench.questions"
    label = "questions"
