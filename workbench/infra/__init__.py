"""What every app stands on: leases, tasks, the file store, addresses, logs, figures. It imports no app."""
