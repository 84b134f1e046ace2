"""Names of the time before ``workbench.operations`` that configurations of installations still hold."""
