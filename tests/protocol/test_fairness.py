"""Commitments and seeds, against digests made with another program (sha256sum)."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.fairness import NONCE_BYTES, SECRET_BYTES, chained, commitment, derive_seed, named_seed, shared_nonce

SECRET = bytes(range(32))
NONCES = (b"a" * 16, b"b" * 16)


def test_a_commitment_is_the_sha256_of_the_secret() -> None:
    assert commitment(bytes(32)).hex() == "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"


def test_the_seed_is_the_sha256_of_secret_nonces_and_number() -> None:
    assert derive_seed(SECRET, NONCES, 0) == sha256(SECRET + b"a" * 16 + b"b" * 16 + b"\0\0\0\0").digest()
    assert derive_seed(SECRET, NONCES, 258) == sha256(SECRET + b"a" * 16 + b"b" * 16 + b"\0\0\1\2").digest()
    assert derive_seed(SECRET, NONCES, 0).hex() == "dd93dd67f050e1516d7b4f726d69e4b039515bba821f92dae101372dc8bc9e15"


def test_the_order_of_the_seats_and_the_number_change_the_seed() -> None:
    seeds = {derive_seed(SECRET, NONCES, 0), derive_seed(SECRET, NONCES[::-1], 0), derive_seed(SECRET, NONCES, 1)}
    assert len(seeds) == 3


@given(
    st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES),
    st.lists(st.binary(min_size=NONCE_BYTES, max_size=NONCE_BYTES), min_size=1, max_size=8),
    st.integers(0, 2**32 - 1),
)
def test_a_seed_is_32_bytes_and_the_same_again_for_one_to_eight_seats(secret: bytes, nonces: list[bytes], k: int) -> None:
    seed = derive_seed(secret, nonces, k)
    assert len(seed) == 32
    assert seed == derive_seed(secret, tuple(nonces), k)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_secret_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"a secret is 32 bytes, not {length}"):
        commitment(bytes(length))
    with pytest.raises(ValueError, match=f"a secret is 32 bytes, not {length}"):
        derive_seed(bytes(length), NONCES, 0)


@pytest.mark.parametrize("length", [0, 15, 17])
def test_a_nonce_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"a nonce is 16 bytes, not {length}"):
        derive_seed(SECRET, (NONCES[0], bytes(length)), 0)


@pytest.mark.parametrize("k", [-1, 2**32])
def test_a_number_that_does_not_fit_four_bytes_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match="a seed's number"):
        derive_seed(SECRET, NONCES, k)


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("friday", "888c8c1a5d62dda878ae964ff5d7b2b7ef6fb26a6076a55cbc2433be9316cf83"),
        ("Tapis n°1", "c652803d2efd6c73a388a3a7efe0b580b4e351530558ba478e6183ccc45a57a7"),
        ("", "20939c4790957966dccd1b5c3cac27c7211c2bafb341e9ccfa4c6fa2bb13da00"),
    ],
)
def test_a_named_deal_has_the_seed_of_its_name(text: str, digest: str) -> None:
    assert named_seed(text).hex() == digest


def test_names_are_taken_as_they_are() -> None:
    assert len({named_seed(text) for text in ("friday", "Friday", " friday", "friday ")}) == 4


def test_a_name_without_a_utf8_form_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        named_seed("\ud800")


def test_a_chain_is_committed_to_by_its_end_and_each_secret_by_the_one_told_before_it() -> None:
    root = bytes(range(32))
    secrets = [chained(root, 3 - number) for number in (1, 2, 3)]
    assert [commitment(secret) for secret in secrets] == [chained(root, 3), *secrets[:-1]]
    assert secrets[-1] == root
    with pytest.raises(ValueError, match="32 bytes"):
        chained(bytes(31), 1)


def test_what_many_put_in_does_not_depend_on_their_order_but_on_each_of_them() -> None:
    nonces = [bytes([number]) * 16 for number in range(3)]
    assert shared_nonce(nonces) == shared_nonce(reversed(nonces)) == sha256(b"".join(nonces)).digest()[:16]
    assert len({shared_nonce(nonces), shared_nonce(nonces[:2]), shared_nonce([])}) == 3
    with pytest.raises(ValueError, match="16 bytes"):
        shared_nonce([bytes(15)])
