"""House bots: strategies that play from what a player sees. `server.rooms.bots` seats and drives them.

A strategy is pure and is given a `protocol.views.View` and nothing more. It must not know positions, nor any seat but its own.
"""
