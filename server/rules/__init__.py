"""The rules of the twelve patience games: pure, from a seed to the last legal move.

Must not know players, races, time or the wire. Entropy comes in as a seed.
"""
