"""The schemas for authors of clients, as a server sends them. Apart from their routes because workers load this, and need no Trio."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from protocol.schemas import NAMES, make_document

Made: TypeAlias = Mapping[str, tuple[bytes, bytes]]
"""By name: a document, plain and gzipped."""


def make_documents() -> Made:
    """All documents. Takes a second."""
    bodies = {name: msgspec.json.format(msgspec.json.encode(make_document(name))) + b"\n" for name in NAMES}
    return {name: (body, gzip.compress(body, mtime=0)) for name, body in bodies.items()}
