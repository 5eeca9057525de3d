"""House bots: strategies that play from what a player sees, and the driver that seats them.

A strategy is pure and is given a `protocol.views.View` and nothing more. Must not know of positions, nor of any seat but its own.
"""
