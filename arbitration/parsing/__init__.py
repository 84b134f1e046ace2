"""From a file to lines, pages, sections and passages.

A file is hostile until proven otherwise, so the product calls :mod:`arbitration.parsing.isolation`, which runs
``python -m arbitration.parsing`` as a child process with hard limits. Everything else in this package runs inside
that child and is kept light to import: no pydantic, no numpy.

* ``kinds``, ``registry``: which parser reads which file
* ``pdf`` and ``pdf_*``: PDF; ``markdown``; ``plain_text``
* ``furniture``, ``headings``, ``clauses``, ``toc``: structure
* ``passages``, ``offsets``: units of search and their way back to the text
"""
