"""The solver: searches a deal with every card known, and reviews a game that was played.

Knows rules and positions. Must not know players, races, time or the wire, nor any rule set by its id. The caller sets a
budget in positions. A search belongs in a thread or process of its own, whose owner may call it off.
"""
