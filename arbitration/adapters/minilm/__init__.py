"""The tokenizer that belongs to the shipped encoder (all-MiniLM-L6-v2, Apache-2.0; see NOTICE)."""
