from django.apps import AppConfig


class QuestionSetsConfig(AppConfig):
    name = "workbench.question_sets"
    label = "question_sets"
