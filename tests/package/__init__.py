"""The built package: what is in it, and that it runs without the checkout."""
