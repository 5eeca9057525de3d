"""The port of the bots: what a strategy is to the driver that plays it.

A strategy sees what a player sees. Whatever it knows of the cards it has from the view; it must not be handed a position.
"""

from typing import Protocol

from protocol.views import View


class Strategy(Protocol):
    """One bot in one game: made at the deal, asked move by move, then dropped."""

    def choose(self, view: View) -> str:
        """One of `view.moves`, of which there must be at least one. May take many milliseconds; see HouseBot.thinks."""
