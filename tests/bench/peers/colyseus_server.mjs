// A peer to be measured beside: Colyseus, with what `race.mjs` does in a room of its own for each race. Messages go by its own protocol (see
// `drivers.py`), to each player their own: its synchronised state is not used, as everybody would see it.
//
//     npm install --no-package-lock && node colyseus_server.mjs PORT

import { Room, Server } from "@colyseus/core";
import { WebSocketTransport } from "@colyseus/ws-transport";
import { Race } from "./race.mjs";

class CarpetRoom extends Room {
  maxClients = 2;

  onCreate(options) {
    this.players = [];
    this.race = new Race(this.roomId, options, (seat, message) => this.players[seat].send(message.type, message));
    for (const type of ["move", "ready", "rematch"]) {
      this.onMessage(type, (client, said) => this.race.heard(client.userData, { ...said, type }));
    }
  }

  onJoin(client) {
    this.players.push(client);
    client.userData = this.race.sit();
  }
}

const server = new Server({ greet: false, transport: new WebSocketTransport({ maxPayload: 4096, perMessageDeflate: false }) });
server.define("carpet", CarpetRoom);
await server.listen(Number(process.argv[2]), "127.0.0.1", 4096);
console.log("listening");
