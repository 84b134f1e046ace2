"""The learning loop: labels, agreement, snapshots, training, the gate and model artifacts.

Plain typed Python over numpy and scikit-learn; it knows the engine and neither web framework nor database.
"""
