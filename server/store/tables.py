"""The tables, as they are now. How they became so is in `migrations`; a test compares the two.

`commands` is a log, not a table to look things up in: rows are added at its end only, in the order in which they were taken, so that a
commit writes a few pages, however many races run. So it has no index by race and no foreign key: the store's ledger sees to what they would
(measured: an index costs four times the processor time of a command). It is read from end to end when a server starts; the commands
of races that are over are swept out, so it stays as small as what runs.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    false,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "pk": "%(table_name)s_pkey",
    }
)

# Only a column that is called INTEGER is SQLite's own row number, and costs no index.
RowNumber = BigInteger().with_variant(Integer(), "sqlite")

# Compared by code point everywhere, not by the rules of whatever language the database was made for.
Key = Text().with_variant(Text(collation="C"), "postgresql")

players = Table(
    "players",
    metadata,
    Column("id", Key, primary_key=True),
    Column("name", Text, nullable=False),
    Column("name_key", Key, nullable=False, unique=True),
    Column("token_hash", LargeBinary, nullable=False, unique=True),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("seen_at_ms", BigInteger, nullable=False),
    Column("mu", Double, nullable=True),
    Column("sigma", Double, nullable=True),
    Column("races", Integer, nullable=False, server_default=text("0")),
)

shared_deals = Table(
    "shared_deals",
    metadata,
    Column("key", Key, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("id", Key, nullable=False),
    Column("secret", LargeBinary, nullable=False),
    Column("nonces", Text, nullable=False),
    Column("options", Text, nullable=True),
    Column("owner", Key, ForeignKey("players.id"), nullable=True),
    Column("made_at_ms", BigInteger, nullable=False),
    Column("reveals_at_ms", BigInteger, nullable=True),
)
"""Shuffles that several races are dealt. nonces: a JSON list. reveals_at_ms: NULL while that is not settled."""

Index("shared_deals_of_kind", shared_deals.c.kind, shared_deals.c.made_at_ms)

races = Table(
    "races",
    metadata,
    Column("id", Key, primary_key=True),
    Column("room", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("options", Text, nullable=False),
    Column("secret", LargeBinary, nullable=False),
    Column("software", Text, nullable=False),
    Column("opened_at_ms", BigInteger, nullable=False),
    Column("phase", Text, CheckConstraint("phase IN ('running', 'over', 'aborted')", name="phase"), nullable=False),
    Column("ended_at_ms", BigInteger, nullable=True),
    Column("reason", Text, nullable=True),
    Column("deal", Key, nullable=True),
)
"""reason: why it was aborted. deal: the key of a shared one; NULL for most. That it is known is the ledger's to see to: SQLite adds no
foreign key to a table that is there."""

Index(
    "races_running",
    races.c.id,
    sqlite_where=races.c.phase == "running",
    postgresql_where=races.c.phase == "running",
)

Index("races_of_deal", races.c.deal, sqlite_where=races.c.deal.is_not(None), postgresql_where=races.c.deal.is_not(None))

runs = Table(
    "runs",
    metadata,
    Column("deal", Key, ForeignKey("shared_deals.key"), primary_key=True),
    Column("rules", Key, primary_key=True),
    Column("player", Key, ForeignKey("players.id"), primary_key=True),
    Column("race", Key, ForeignKey("races.id"), nullable=False, index=True),
)
"""Who has had his run of a deal that each player runs once."""

tournaments = Table(
    "tournaments",
    metadata,
    Column("id", Key, primary_key=True),
    Column("director", Key, ForeignKey("players.id"), nullable=False),
    Column("secret", LargeBinary, nullable=False),
    Column("document", Text, nullable=False),
    Column("made_at_ms", BigInteger, nullable=False),
    Column("closed_at_ms", BigInteger, nullable=True),
)
"""closed_at_ms: NULL while something may go on by itself."""

Index("tournaments_made", tournaments.c.made_at_ms, tournaments.c.id)

decisions = Table(
    "decisions",
    metadata,
    Column("tournament", Key, ForeignKey("tournaments.id"), primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("author", Key, ForeignKey("players.id"), nullable=True),
    Column("decision", Text, nullable=False),
)
"""The logs of tournaments. author: NULL for the server."""

commands = Table(
    "commands",
    metadata,
    Column("number", RowNumber, primary_key=True, autoincrement=False),
    Column("race", Key, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("command", Text, nullable=False),
)
"""Of running races; those of others may be there until they are swept out."""

records = Table(
    "records",
    metadata,
    Column("race", Key, ForeignKey("races.id"), primary_key=True),
    Column("record", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("finished_at_ms", BigInteger, nullable=False),
    Column("number", BigInteger, nullable=False, unique=True),
)
"""number: in the order in which they were written, in which ratings follow from them."""

seats = Table(
    "seats",
    metadata,
    Column("race", Key, ForeignKey("races.id"), primary_key=True),
    Column("seat", SmallInteger, primary_key=True, autoincrement=False),
    Column("player", Key, ForeignKey("players.id"), nullable=True),
    Column("name", Text, nullable=False),
    Column("bot", Text, nullable=True),
    Column("state", Text, nullable=False),
    Column("place", SmallInteger, nullable=True),
    Column("home", SmallInteger, nullable=False),
    Column("finished_at_ms", BigInteger, nullable=False),
    Column("ended_at_ms", BigInteger, nullable=True),
    Column("mu_before", Double, nullable=True),
    Column("sigma_before", Double, nullable=True),
    Column("mu_after", Double, nullable=True),
    Column("sigma_after", Double, nullable=True),
    Column("rated_races", Integer, nullable=True),
    Column("here", Boolean, nullable=False, server_default=false()),
)
"""Who sat where and what came of it, to look up by player: of races that are over, as their records have it, and of those that had begun
and were aborted, which have no places. finished_at_ms: of the race, Unix time. ended_at_ms: of the seat, from the start. mu_before and the
others: what a race that counts did to the player's rating. rated_races: his, this one included. here: he is in the room of the race still,
which is over."""

Index("seats_of_player", seats.c.player, seats.c.finished_at_ms, seats.c.race)
Index("seats_here", seats.c.race, sqlite_where=seats.c.here.is_(True), postgresql_where=seats.c.here.is_(True))
