"""A table of cards: how it is drawn, large and small, and what a press on one's own means. Pure."""
