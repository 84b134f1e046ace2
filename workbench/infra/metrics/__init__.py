"""What processes count, and the files in which they count together (:mod:`workbench.operations.metrics`)."""
