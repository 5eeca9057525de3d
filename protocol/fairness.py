"""Fair deals: how a seed follows from what both sides contribute, so that neither can choose the cards.

Owns the commitment and the derivation of seeds. Must not draw entropy itself (secrets and nonces come in as bytes) nor
know what is dealt from a seed (protocol/shuffle.py).

The server draws a secret and publishes its commitment; only then does each player send a nonce. The seed depends on the
secret and on every nonce: the server cannot change it after seeing the nonces, nor can a player foresee it. The secret is
revealed with the record, and anyone can derive the seed again.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

SECRET_BYTES: Final = 32
NONCE_BYTES: Final = 16
HOUSE_NONCE: Final = bytes(NONCE_BYTES)
"""What a house bot contributes: nothing. If it were random, the host could draw it again until they liked the deal."""

_NAMED_PREFIX: Final = b"carpet deal "


def commitment(secret: bytes) -> bytes:
    """SHA-256 of the secret (32 bytes, else ValueError)."""
    _check_length("secret", secret, SECRET_BYTES)
    return sha256(secret).digest()


def derive_seed(secret: bytes, nonces: Sequence[bytes], k: int) -> bytes:
    """Seed number k: SHA-256(secret ‖ nonces in seat order ‖ k as 4 bytes big-endian).

    The secret is 32 bytes, each nonce 16, k from 0 to 2³² - 1; otherwise ValueError. The fixed lengths keep two different
    sets of nonces from being the same bytes.
    """
    _check_length("secret", secret, SECRET_BYTES)
    for nonce in nonces:
        _check_length("nonce", nonce, NONCE_BYTES)
    if not 0 <= k < 2**32:
        raise ValueError(f"a seed's number is from 0 to 2**32 - 1, not {k!r}")
    return sha256(secret + b"".join(nonces) + k.to_bytes(4, "big")).digest()


def swap_number(seat: int, race: int) -> int:
    """In a swap, the number of the seed that a seat (from 0) plays in race number 1 or 2: each seat plays one, then the other."""
    return (seat + race - 1) % 2


def daily_nonce(date: str, rules: str) -> bytes:
    """Replaces the players' nonces in a day's deal under one rule set: the first 16 bytes of SHA-256("carpet daily DATE RULES").

    date: such as 2026-11-21. So one secret, committed to in advance, gives every rule set its own shuffle that day.
    """
    return sha256(f"carpet daily {date} {rules}".encode()).digest()[:NONCE_BYTES]


def named_seed(text: str) -> bytes:
    """The seed of the deal with this name: SHA-256("carpet deal " ‖ text in UTF-8). Anyone can look it up: never rated.

    The text is taken as it is, neither trimmed nor normalised. Raises ValueError if it has no UTF-8 form.
    """
    return sha256(_NAMED_PREFIX + text.encode("utf-8")).digest()


def chained(root: bytes, links: int) -> bytes:
    """SHA-256 applied `links` times to 32 bytes (else ValueError).

    A chain commits to the secrets of many rounds at once. The last link is revealed first. Each secret is the commitment of the one
    revealed after it, and no later one can be derived from those already revealed.
    """
    _check_length("secret", root, SECRET_BYTES)
    for _ in range(links):
        root = sha256(root).digest()
    return root


def shared_nonce(nonces: Iterable[bytes]) -> bytes:
    """The contributions of many to one shuffle, as one nonce: the first 16 bytes of SHA-256 of the nonces in ascending order (16 bytes
    each, else ValueError)."""
    ordered = sorted(nonces)
    for nonce in ordered:
        _check_length("nonce", nonce, NONCE_BYTES)
    return sha256(b"".join(ordered)).digest()[:NONCE_BYTES]


def _check_length(what: str, value: bytes, length: int) -> None:
    if len(value) != length:
        raise ValueError(f"a {what} is {length} bytes, not {len(value)}")
