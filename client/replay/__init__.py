"""A race that is over, on its time line."""
