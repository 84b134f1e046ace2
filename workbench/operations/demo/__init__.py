"""A small world to try the product on: an insurer, its supplier, a regulator, and six people.

Every text is written for this product; companies, people and the jurisdiction are invented.
"""
