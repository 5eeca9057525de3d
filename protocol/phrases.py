"""The quick phrases: all that players can say during their race, so that nobody gives cards away or is talked out of their game.

An id is for the wire and is never renamed; the words are what a client shows. New ones may be added in any release.
"""

from __future__ import annotations

from typing import Final

PHRASES: Final[dict[str, str]] = {
    "hello": "Hello!",
    "good-luck": "Good luck!",
    "nice": "Nice!",
    "close": "This is close!",
    "ouch": "Ouch!",
    "sorry": "Sorry!",
    "one-moment": "One moment, please.",
    "thanks": "Thank you!",
    "well-played": "Well played!",
}
"""The words by id, in the order in which a client offers them: nine, one for each key from 1."""
