"""From a file to lines, pages, sections and passages.

A file is hostile until proven otherwise, so the product calls :mod:`arbitration.parsing.isolation`, which runs
``python -m arbitration.parsing`` as a child process with hard limits. Everything else in this package runs inside
that child and is kept light to import: no pydantic, no numpy.

* :mod:`~arbitration.parsing.kinds`, :mod:`~arbitration.parsing.registry`: which parser reads which file
* :mod:`~arbitration.parsing.pdf`, ``pdf_*``: PDF; :mod:`~arbitration.parsing.markdown`, :mod:`~arbitration.parsing.plain_text`
* :mod:`~arbitration.parsing.furniture`, :mod:`~arbitration.parsing.headings`, :mod:`~arbitration.parsing.toc`: structure
* :mod:`~arbitration.parsing.passages`, :mod:`~arbitration.parsing.offsets`: units of search and their way back to the text
"""
