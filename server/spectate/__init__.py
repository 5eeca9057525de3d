"""Spectators, who watch a race without a seat in it: what they may see, when, and how it reaches a thousand of them."""
