"""The present tables, in SQLite's dialect. A store in memory and a new SQLite file are created from them; an older file gets them step by
step, through `migrations`, and so does PostgreSQL; a test compares the two.

`batches` is a log, not a table to look things up in. It has one row per commit with all its commands, so that a thousand commands cost few
pages and one statement. A starting server reads it from end to end. The commands of finished races are removed, so it stays about as small
as what is running.
"""

from __future__ import annotations

import re
from typing import Final

VERSION: Final = "0015"
"""The migration after which a database has these tables."""

TABLES: Final = """
CREATE TABLE players (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,
    token_hash BLOB NOT NULL UNIQUE,
    created_at_ms BIGINT NOT NULL,
    seen_at_ms BIGINT NOT NULL,
    mu DOUBLE,
    sigma DOUBLE,
    races INTEGER DEFAULT 0 NOT NULL
);
CREATE INDEX players_rated ON players ((mu - 3 * sigma) DESC, name_key) WHERE mu IS NOT NULL;

-- Shuffles that several races are dealt. nonces: a JSON list. reveals_at_ms: NULL while that is not settled.
CREATE TABLE shared_deals (
    key TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    secret BLOB NOT NULL,
    nonces TEXT NOT NULL,
    options TEXT,
    owner TEXT REFERENCES players (id),
    made_at_ms BIGINT NOT NULL,
    reveals_at_ms BIGINT
);
CREATE INDEX shared_deals_of_kind ON shared_deals (kind, made_at_ms);
CREATE INDEX shared_deals_of_owner ON shared_deals (owner);

-- Servers that share this database, by the URL at which they are reached. epoch: one more each time another process answers for the
-- node's races. lease_until_ms: by the database's clock; once it is past, other nodes may take its races over.
CREATE TABLE nodes (
    id INTEGER NOT NULL PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    epoch BIGINT NOT NULL,
    lease_until_ms BIGINT NOT NULL
);

-- One row. id: tells the place of these servers from every other; empty where there were servers before it was kept.
CREATE TABLE place (
    id TEXT NOT NULL PRIMARY KEY
);

-- reason: why it was aborted. deal: the key of a shared one; NULL for most. node: which runs it; 0 for a server alone. listed: the
-- rule set, of a race in a public room.
CREATE TABLE races (
    id TEXT NOT NULL PRIMARY KEY,
    room TEXT NOT NULL,
    number INTEGER NOT NULL,
    options TEXT NOT NULL,
    secret BLOB NOT NULL,
    software TEXT NOT NULL,
    opened_at_ms BIGINT NOT NULL,
    phase TEXT NOT NULL CHECK (phase IN ('running', 'over', 'aborted')),
    ended_at_ms BIGINT,
    reason TEXT,
    deal TEXT,
    node INTEGER DEFAULT 0 NOT NULL,
    listed TEXT
);
CREATE INDEX races_listed ON races (listed, ended_at_ms, id) WHERE phase = 'over' AND listed IS NOT NULL;
CREATE INDEX races_running ON races (id) WHERE phase = 'running';
CREATE INDEX races_of_deal ON races (deal) WHERE deal IS NOT NULL;
CREATE INDEX races_over_by_room ON races (room) WHERE phase = 'over';

-- Who has had their run of a deal that each player runs once.
CREATE TABLE runs (
    deal TEXT NOT NULL REFERENCES shared_deals (key),
    rules TEXT NOT NULL,
    player TEXT NOT NULL REFERENCES players (id),
    race TEXT NOT NULL REFERENCES races (id),
    PRIMARY KEY (deal, rules, player)
);
CREATE INDEX runs_race ON runs (race);
CREATE INDEX runs_of_player ON runs (player);

-- closed_at_ms: NULL while something may go on by itself. node: which leads it, as of `races`.
CREATE TABLE tournaments (
    id TEXT NOT NULL PRIMARY KEY,
    director TEXT NOT NULL REFERENCES players (id),
    secret BLOB NOT NULL,
    document TEXT NOT NULL,
    made_at_ms BIGINT NOT NULL,
    closed_at_ms BIGINT,
    node INTEGER DEFAULT 0 NOT NULL
);
CREATE INDEX tournaments_made ON tournaments (made_at_ms, id);
CREATE INDEX tournaments_open ON tournaments (id) WHERE closed_at_ms IS NULL;
CREATE INDEX tournaments_of_director ON tournaments (director);

-- The logs of tournaments. author: NULL for the server.
CREATE TABLE decisions (
    tournament TEXT NOT NULL REFERENCES tournaments (id),
    sequence INTEGER NOT NULL,
    at_ms BIGINT NOT NULL,
    author TEXT REFERENCES players (id),
    decision TEXT NOT NULL,
    PRIMARY KEY (tournament, sequence)
);
CREATE INDEX decisions_of_author ON decisions (author);

-- One row a commit; the last one says which that was. Each node has numbers of its own (`nodes.numbers_of`).
-- writer: random bytes, new for each opening of the store. commands: as of
-- `documents.encode_commands`; of races that run, and until they are taken out of others.
CREATE TABLE batches (
    number INTEGER NOT NULL PRIMARY KEY,
    writer BLOB NOT NULL,
    commands BLOB NOT NULL
);

-- number: in the order in which they were written, in which ratings follow from them.
CREATE TABLE records (
    race TEXT NOT NULL PRIMARY KEY REFERENCES races (id),
    record TEXT NOT NULL,
    digest TEXT NOT NULL,
    finished_at_ms BIGINT NOT NULL,
    number BIGINT NOT NULL UNIQUE
);

-- Who sat where and what came of it, to look up by player: of races that are over, as their records have it, and of those that had begun
-- and were aborted, which have no places. finished_at_ms: of the race, Unix time. ended_at_ms: of the seat, from the start. mu_before and
-- the others: what a race that counts did to the player's rating. rated_races: the player's, this one included. here: whether the player
-- is still in the room of the race, which is over; gone: whether they had left it before that, or gave its series up after it.
CREATE TABLE seats (
    race TEXT NOT NULL REFERENCES races (id),
    seat SMALLINT NOT NULL,
    player TEXT REFERENCES players (id),
    name TEXT NOT NULL,
    bot TEXT,
    state TEXT NOT NULL,
    place SMALLINT,
    home SMALLINT NOT NULL,
    finished_at_ms BIGINT NOT NULL,
    ended_at_ms BIGINT,
    mu_before DOUBLE,
    sigma_before DOUBLE,
    mu_after DOUBLE,
    sigma_after DOUBLE,
    rated_races INTEGER,
    here BOOLEAN DEFAULT 0 NOT NULL,
    gone BOOLEAN DEFAULT 0 NOT NULL,
    PRIMARY KEY (race, seat)
);
CREATE INDEX seats_of_player ON seats (player, finished_at_ms, race);
CREATE INDEX seats_here ON seats (race) WHERE here;

-- Who is kept out. subject: the id of a player, or an IPv4 address or IPv6 /64.
CREATE TABLE bans (
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    reason TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (kind, subject)
);
"""

IN_ORDER: Final = tuple(re.findall("CREATE TABLE ([a-z_]+)", TABLES))
"""Each table refers only to those before it."""

NAMES: Final = frozenset(IN_ORDER)
