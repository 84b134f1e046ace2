"""A database backend for a standby that may hang: PostgreSQL as Django has it, where every answer has its time."""
