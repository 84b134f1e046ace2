"""The learning loop: labels, snapshots, training and the deployment gate."""
