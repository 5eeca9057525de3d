"""What could have been: searching a deal with every card known, and judging a game that was played.

Knows rules and positions. Must not know of players, races, time or the wire, nor any rule set by its id: whoever asks
says how much may be spent, in positions, and may call it off. A search is for a thread or process of its own.
"""
