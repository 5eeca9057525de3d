"""The interface of a bot's strategy, as the driver that plays it uses it.

A strategy sees what a player sees. All it knows about the cards comes from the view; it must never be handed a position.
"""

from typing import Protocol

from protocol.views import View


class Strategy(Protocol):
    """One bot in one game: made when the cards are dealt, asked move by move, then dropped."""

    def choose(self, view: View) -> str:
        """One of `view.moves`, which must not be empty. May take many milliseconds: see HouseBot.thinks."""
