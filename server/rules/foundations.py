"""The eight foundations that families 2 and 3 share: for each suit one built up from the Ace and one built down from the King.

Owns which cards are lifted for them, which card each wants next, and the text of the moves onto them. Must not know where
the other cards lie.

Heights are eight numbers in the order `S+ S- H+ H- D+ D- C+ C-`. With two decks a suit has two copies of each rank, one
for each of its foundations. It does not matter which copy goes to which.
"""

from typing import Final, TypeAlias

from protocol.cards import SUIT_SIZE, SUITS, Card, rank, suit

UP: Final = "+"
DOWN: Final = "-"
FOUNDATIONS: Final = tuple(suit + sign for suit in SUITS for sign in (UP, DOWN))
FOUNDED: Final = (1,) * len(FOUNDATIONS)
"""The heights at the deal: an Ace and a King of each suit are lifted."""

Heights: TypeAlias = tuple[int, ...]
HomeMoves: TypeAlias = tuple[tuple[str, ...], ...]
"""The moves from one source onto the foundations, indexed by the code that `wanted` gives its card."""

_UP_CODE: Final = 1
_DOWN_CODE: Final = 2


def lift_aces_and_kings(deck: tuple[Card, ...]) -> tuple[Card, ...]:
    """The deck without the first Ace and the first King of each suit; the rest keeps its order."""
    lifted: set[Card] = set()
    rest: list[Card] = []
    for card in deck:
        if rank(card) in (1, SUIT_SIZE) and card not in lifted:
            lifted.add(card)
        else:
            rest.append(card)
    return tuple(rest)


def wanted(heights: Heights) -> dict[Card, int]:
    """The cards that a foundation wants next, each with a code: 1 if the one built up wants it, 2 if the one built down, 3 if both."""
    spades_up, spades_down, hearts_up, hearts_down, diamonds_up, diamonds_down, clubs_up, clubs_down = heights
    spades, hearts, diamonds, clubs = _WANTED
    return {
        **spades[spades_up][spades_down],
        **hearts[hearts_up][hearts_down],
        **diamonds[diamonds_up][diamonds_down],
        **clubs[clubs_up][clubs_down],
    }


def _wanted_of(ace: Card, up: int, down: int) -> dict[Card, int]:
    """`wanted` for one suit, from the heights of its two foundations."""
    codes: dict[Card, int] = {}
    if up < SUIT_SIZE:
        codes[ace + up] = _UP_CODE
    if down < SUIT_SIZE:
        card = ace + SUIT_SIZE - 1 - down
        codes[card] = codes.get(card, 0) | _DOWN_CODE
    return codes


# Indexed by suit, the height of the foundation built up, and that of the one built down.
_WANTED: Final = tuple(
    tuple(tuple(_wanted_of(number * SUIT_SIZE, up, down) for down in range(SUIT_SIZE + 1)) for up in range(SUIT_SIZE + 1))
    for number in range(len(SUITS))
)


def home_moves(source: str) -> HomeMoves:
    up, down = source + UP, source + DOWN
    return (), (up,), (down,), (up, down)


def raised(heights: Heights, card: Card, sign: str) -> Heights:
    """The heights with the card on the foundation of its suit that the sign names."""
    after = list(heights)
    after[2 * suit(card) + (sign == DOWN)] += 1
    return tuple(after)
