"""Tournaments: who is paired with whom, and who stands where.

`tournament` is the state, a fold over the log of `decisions`; the `formats` pair its rounds and rank its entrants. All of that is pure:
nothing waits, draws lots or knows of a clock, a room or a store.
"""
