"""How dates read, by language (FORMAT_MODULE_PATH): one form in pages, mails and records."""
