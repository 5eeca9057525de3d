"""What somebody may say: a cleaned line, or a phrase and its words."""

from __future__ import annotations

from protocol.client_messages import Say
from protocol.errors import ErrorCode, Refusal
from protocol.phrases import PHRASES
from protocol.text import clean_chat


def words(message: Say) -> str:
    """The text of a line. Raises Refusal for a phrase that is not known, and for a line of which nothing is left."""
    if message.phrase is not None:
        text = PHRASES.get(message.phrase)
        if text is None:
            raise Refusal(ErrorCode.UNKNOWN_PHRASE, path="$.phrase")
        return text
    text = clean_chat(message.text)
    if not text:
        raise Refusal(ErrorCode.EMPTY_CHAT, path="$.text")
    return text
