"""Which of two texts on one matter prevails: amendment over original, later version over earlier, the text in force
over the one repealed, exception over rule. No model is asked.

``dates`` and ``statements`` read sentences, ``documents`` says how whole documents stand to each other, ``passages``
finds the pairs of candidates, ``search`` asks the store for what that needs, and ``settle`` gives the roles.
"""
