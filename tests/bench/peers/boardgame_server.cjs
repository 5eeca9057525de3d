// A peer to be measured beside: boardgame.io, with the rules of `race.mjs` as a game in which both may move at any time. It sends each player, at
// every move of either, the whole game as they may see it, as JSON by Socket.IO (see `drivers.py`).
//
//     npm install --no-package-lock && node boardgame_server.cjs PORT

const { INVALID_MOVE, ActivePlayers } = require("boardgame.io/core");
const { Server } = require("boardgame.io/server");

async function main() {
  const { deal, foundations, legalMoves, play, see } = await import("./race.mjs");

  function fresh() {
    const position = deal();
    const seat = { position, moves: legalMoves(position), ply: 0, state: "racing" };
    return [seat, seat];
  }

  const own = (seat) => ({ ply: seat.ply, state: seat.state, view: see(seat.position, seat.moves) });

  function progress({ ply, state, position }) {
    return { ply, state, home: position.heights.reduce((sum, height) => sum + height), foundations: foundations(position.heights) };
  }

  const carpet = {
    name: "carpet",
    disableUndo: true,
    setup: () => ({ race: 1, ready: 0, again: 0, phase: "waiting", seats: fresh() }),
    turn: { activePlayers: ActivePlayers.ALL },
    playerView: ({ G, playerID }) => {
      const { race, phase, seats } = G;
      if (playerID === null || phase === "waiting") return { race, phase };
      return { race, phase, own: own(seats[playerID]), other: progress(seats[1 - playerID]) };
    },
    moves: Object.fromEntries(
      Object.entries({
        ready: ({ G }) => (G.ready === 1 ? { ...G, ready: 0, phase: "racing" } : { ...G, ready: 1 }),
        rematch: ({ G }) => (G.again === 1 ? { race: G.race + 1, ready: 0, again: 0, phase: "waiting", seats: fresh() } : { ...G, again: 1 }),
        play: ({ G, playerID }, ply, move) => {
          const before = G.seats[playerID];
          if (G.phase !== "racing" || ply !== before.ply || !before.moves.includes(move)) return INVALID_MOVE;
          const position = play(before.position, move);
          const moves = legalMoves(position);
          const won = position.heights.every((height) => height === 13);
          const seats = [...G.seats];
          seats[playerID] = { position, moves, ply: ply + 1, state: won ? "won" : moves.length ? "racing" : "stalled" };
          const over = won || seats.every((seat) => seat.state !== "racing");
          return { ...G, seats, phase: over ? "over" : "racing" };
        },
      }).map(([name, move]) => [name, { move, client: false, ignoreStaleStateID: true }]),
    ),
  };

  const port = Number(process.argv[2]);
  await Server({ games: [carpet], origins: ["*"] }).run({ port, callback: () => console.log("listening") });
}

main();
