"""The files of docs/deploy, read by the real programs: `make deploy-test`."""
