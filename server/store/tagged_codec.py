"""Encodes values of several classes to stored text, the JSON list `[version, tag, fields]`, and decodes them.

Tags are separate from class names, so that a class can be renamed while stored text stays readable. They are never changed or reused. If a
change to a class's fields makes old text unreadable, it needs a new version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec

Value = TypeVar("Value")


class TaggedCodec(Generic[Value]):
    """version, tags: the ones written, and the only ones that can be read. what: the word for a value in errors. error: raised with a
    sentence."""

    __slots__ = ("_encode", "_error", "_fields", "_frame", "_version", "_what", "tag_of")

    def __init__(self, tags: Mapping[str, type[Value]], *, version: int, what: str, error: type[Exception]) -> None:
        self.tag_of = {value: tag for tag, value in tags.items()}
        self._encode = msgspec.json.Encoder().encode
        self._frame = msgspec.json.Decoder(tuple[int, str, msgspec.Raw])
        self._fields = {tag: msgspec.json.Decoder(value) for tag, value in tags.items()}
        self._version = version
        self._what = what
        self._error = error

    def encode(self, value: Value) -> bytes:
        """Encode as UTF-8. Raises UnicodeError for text that cannot be encoded."""
        return self._encode((self._version, self.tag_of[type(value)], value))

    def decode(self, text: bytes | str) -> Value:
        """Raises `error`."""
        try:
            version, tag, fields = self._frame.decode(text)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise self._unreadable(error) from error
        if version != self._version:
            raise self._error(f"a {self._what} of version {version}, where this program reads {self._version}")
        if tag not in self._fields:
            raise self._error(f"a {self._what} {tag!r}, which this program does not know")
        try:
            return self._fields[tag].decode(fields)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> Exception:
        return self._error(f"not a {self._what}: {error}")

    def is_newer(self, text: bytes) -> bool:
        """Whether only a newer version of this program can have written this value."""
        try:
            version, tag, _ = self._frame.decode(text)
        except (msgspec.DecodeError, UnicodeError):
            return False
        return version > self._version or (version == self._version and tag not in self._fields)
