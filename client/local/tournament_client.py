"""Asking a server for one thing about a tournament, as a player or its director, on a connection opened just for that.

What a director decides is asked for on a second connection, beside a screen of theirs that is open there. To make, enter or
leave a tournament, or to ask for a bye, a player says hello, which takes over from such a screen.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import AsyncIterator

from msgspec.structs import replace

from client.connection.client import NetLink
from client.connection.errors import Failure, LinkError, RequestRefused
from client.local.sitting import from_elsewhere, identified
from client.state.tournament import result_ruled_on
from client.storage.identity import IdentityStore, home_folder
from client.tui.tournament.rulings import race_of
from protocol.errors import ErrorCode
from protocol.text import clean_name, counted
from protocol.tournament_messages import (
    CorrectResult,
    CreateTournament,
    Decided,
    EnterTournament,
    ExtendCheckIn,
    FollowTournament,
    GiveBye,
    PairRound,
    RemoveEntrant,
    RenameEntrant,
    StartTournament,
    Tournament,
    TournamentRequest,
)
from protocol.tournaments import TableResult, TournamentTable


class NoSuchTable(Failure):
    """There is no table of that number, or no such round; the text says which there are."""


class NoSuchEntrant(Failure):
    """Nobody of that name plays in the tournament, or more than one does; the text says who does."""


@contextlib.asynccontextmanager
async def _asking(url: str, name: str | None, tournament: str, *, newcomer: bool = False) -> AsyncIterator[NetLink]:
    """A link as for `identified`. Whoever is refused for not being the director is told who they are there, perhaps to their surprise.

    newcomer: whether a new player may ask for it.
    """
    async with identified(url, name, watches=True, known_only=not newcomer) as (link, let_in):
        try:
            yield link
            let_in()
        except RequestRefused as refused:
            if refused.error.code != ErrorCode.NOT_THE_DIRECTOR:
                raise
            own = clean_name((await link.entered()).name)
            who = f"At {link.url} this machine is the player {own}."
            director = (await link.ask(FollowTournament(id=tournament), Tournament)).director
            here = (known.identity for known in IdentityStore(home_folder()).known(link.url))
            theirs = next((identity.name for identity in here if identity.player == director), None)
            if theirs is not None:
                how = f"Its director {theirs} is on this machine too: add --name {shlex.quote(theirs)}."
                raise LinkError(f"{refused} {who} {how}") from refused
            raise LinkError(f"{refused} {who} {from_elsewhere('are its director', link.url)}") from refused


async def decide(url: str, request: TournamentRequest, *, name: str | None) -> Decided:
    """Ask for a decision. Raises LinkError, whose text is the server's, NotKnown and IdentityError."""
    newcomer = isinstance(request, CreateTournament | EnterTournament)
    async with _asking(url, name, getattr(request, "id", ""), newcomer=newcomer) as link:
        return await link.ask(request, Decided)


async def decide_and_look(url: str, request: StartTournament | ExtendCheckIn, *, name: str | None) -> Tournament:
    """Ask for a decision. How the tournament stands then."""
    async with _asking(url, name, request.id) as link:
        await link.ask(request, Decided)
        return await link.ask(FollowTournament(id=request.id), Tournament)


async def pair_next(url: str, tournament: str, *, name: str | None) -> int:
    """Have the next round paired. Returns its number."""
    async with _asking(url, name, tournament) as link:
        told = await link.ask(FollowTournament(id=tournament), Tournament)
        number = len(told.rounds) + 1
        await link.ask(PairRound(id=tournament, round=number), Decided)
        return number


async def correct(
    url: str, request: CorrectResult, *, race: int | None, cards: tuple[int, int] | None, name: str | None
) -> TournamentTable:
    """Enter, correct or strike a result. What its table is then. race: None for the one to come, else the last. cards: home on both
    sides; None to keep the known ones. Raises NoSuchTable."""
    async with _asking(url, name, request.id) as link:
        told = await link.ask(FollowTournament(id=request.id, round=request.round), Tournament)
        table = table_asked_for(told, request)
        # Only a race that has a result can be struck.
        request = replace(request, race=race or (race_of(table) if request.result is not None else max(len(table.races), 1)))
        ruled_on = result_ruled_on(told, request)
        known = cards or ((ruled_on.first_home, ruled_on.second_home) if ruled_on is not None else (0, 0))
        if request.result is not None:
            request = replace(request, result=replace(request.result, first_home=known[0], second_home=known[1]))
        await link.ask(request, Decided)
        return table_asked_for(await link.ask(FollowTournament(id=request.id, round=request.round), Tournament), request)


def table_asked_for(told: Tournament, request: CorrectResult) -> TournamentTable:
    """The table that a request is about. Raises NoSuchTable."""
    if request.round > len(told.rounds):
        there_are = f"{counted(len(told.rounds), 'round')} so far" if told.rounds else "no round yet"
        raise NoSuchTable(f"There is no round {request.round} in that tournament: {there_are}.")
    found = next((each for each in told.tables if each.table == request.table), None)
    if found is None:
        raise NoSuchTable(f"There is no table {request.table} in round {request.round}: it has {counted(len(told.tables), 'table')}.")
    return found


async def remove(url: str, tournament: str, who: str, *, back: bool, reason: str, name: str | None) -> str:
    """Remove an entrant, or let one back in. who: an id, or a name in any case. Returns their name. Raises NoSuchEntrant."""
    async with _asking(url, name, tournament) as link:
        told = await link.ask(FollowTournament(id=tournament), Tournament)
        entrant = entrant_named(told, who, back=back)
        await link.ask(RemoveEntrant(id=tournament, entrant=entrant, remove=not back, reason=reason), Decided)
        return _name_in(told, entrant)


async def rename(url: str, tournament: str, who: str, to: str, *, reason: str, name: str | None) -> tuple[str, str]:
    """Correct an entrant's name. who: as for `remove`, in the tournament or out. Returns both names. Raises NoSuchEntrant."""
    async with _asking(url, name, tournament) as link:
        told = await link.ask(FollowTournament(id=tournament), Tournament)
        entrant = entrant_named(told, who, back=None)
        await link.ask(RenameEntrant(id=tournament, entrant=entrant, name=to, reason=reason), Decided)
        now = await link.ask(FollowTournament(id=tournament), Tournament)
        # They may have left since: it is decided all the same.
        return _name_in(told, entrant), _name_in(now, entrant) or clean_name(to)


async def give_bye(url: str, tournament: str, who: str, number: int, *, half_points: int, reason: str, name: str | None) -> str:
    """Give an entrant a bye in round `number`, or with 0 half points take it away. who: as for `remove`. Returns their name.

    Raises NoSuchEntrant.
    """
    async with _asking(url, name, tournament) as link:
        told = await link.ask(FollowTournament(id=tournament), Tournament)
        entrant = entrant_named(told, who)
        await link.ask(GiveBye(id=tournament, entrant=entrant, round=number, half_points=half_points, reason=reason), Decided)
        return _name_in(told, entrant)


def entrant_named(told: Tournament, who: str, *, back: bool | None = False) -> str:
    """The id of an entrant. back: whether to let them in again, so look among those who have withdrawn; None for all entrants.

    Raises NoSuchEntrant.
    """
    if any(entrant.id == who for entrant in told.entrants):
        return who
    some = [entrant for entrant in told.entrants if back is None or entrant.withdrawn == back]
    found = [entrant for entrant in some if entrant.name.casefold() == who.casefold()]
    if len(found) == 1:
        return found[0].id
    if found:
        ids = ", ".join(clean_name(entrant.id) for entrant in found)
        raise NoSuchEntrant(f"More than one entrant is called {clean_name(who)}; name one by id: {ids}.")
    names = ", ".join(clean_name(entrant.name) for entrant in some) or "nobody"
    does = "has entered" if back is None else "has withdrawn" if back else "plays"
    raise NoSuchEntrant(f"Nobody called {clean_name(who)} {does} there; who {does}: {names}.")


def _name_in(told: Tournament, entrant: str) -> str:
    """The name of an entrant by id; empty if they are not in the tournament."""
    return next((clean_name(each.name) for each in told.entrants if each.id == entrant), "")


def verdict_of(text: str) -> TableResult | None:
    """Read `1-0`, `0-1`, `draw` or `0-0`, with an `f` at the end if by forfeit; None for `strike`. Raises ValueError."""
    plain = text.strip().lower()
    forfeit = plain.endswith("f") and plain != "strike"
    match plain.removesuffix("f") if forfeit else plain:
        case "strike" if not forfeit:
            return None
        case "1-0":
            return TableResult(verdict="first", forfeit=forfeit)
        case "0-1":
            return TableResult(verdict="second", forfeit=forfeit)
        case "draw" if not forfeit:
            return TableResult(verdict="draw")
        case "0-0":
            return TableResult(verdict="neither", forfeit=True)
    raise ValueError(text)
