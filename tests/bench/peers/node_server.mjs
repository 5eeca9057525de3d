// A peer to be measured beside: `ws` from npm, as much of the wire as `carpet load` uses, and what `race.mjs` does.
//
//     npm install --no-package-lock && node node_server.mjs PORT

import { randomInt } from "node:crypto";
import { Packr } from "msgpackr";
import { WebSocketServer } from "ws";
import { Race } from "./race.mjs";

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true });
const races = new Map();

function heard(player, said) {
  switch (said.type) {
    case "hello":
      return player.socket.send(packr.pack({ type: "welcome" }));
    case "open-race": {
      const code = Array.from({ length: 6 }, () => "ABCDEFGHJKLMNPQRSTUVWXYZ"[randomInt(24)]).join("");
      const players = [player];
      player.race = new Race(code, said.options, (seat, message) => players[seat].socket.send(packr.pack(message)));
      races.set(code, { race: player.race, players });
      player.seat = player.race.sit();
      return;
    }
    case "join-race": {
      const { race, players } = races.get(said.code);
      players.push(player);
      player.race = race;
      player.seat = race.sit();
      return;
    }
    default:
      player.race.heard(player.seat, said);
  }
}

const port = Number(process.argv[2]);
const handleProtocols = () => "carpet.v1.msgpack";
new WebSocketServer({ host: "127.0.0.1", port, backlog: 4096, maxPayload: 4096, perMessageDeflate: false, handleProtocols })
  .on("connection", (socket) => {
    const player = { socket, race: null, seat: 0 };
    socket.on("message", (data) => heard(player, packr.unpack(data)));
    socket.on("error", () => socket.terminate());
  })
  .on("listening", () => console.log("listening"));
