// The call to one's table of a tournament: what it says, how long one has to be there and ready, and when there is nothing left to go to.
//
// Nobody is told that a call stands no longer. So its tournament is followed as long as it does.

import { announce, clean, clockText, element, setText } from "./dom.js";
import { holds } from "./model.js";
import { isDone } from "./tournaments.js";

export class Call {
  /** @type {import("carpet-wire").Called | null} */
  #called = null;
  #until = null;
  #heldAt = null;
  #said = null;
  /** The tournament that is followed; empty for none. */
  #followed = "";

  /** @param {{send: (message: import("carpet-wire").ClientMessage) => boolean}} connection */
  constructor(connection) {
    this.connection = connection;
    this.text = element("span", {});
    this.within = element("span", {});
    this.go = element("a", { class: "main-link" }, "Go to your table");
    this.node = element("p", { class: "notice actions call", hidden: true }, element("span", {}, this.text, this.within), this.go);
  }

  /** @param {import("carpet-wire").ServerMessage} message @param {number} now */
  hear(message, now) {
    if (message.type === "called") this.#take(message, now);
    else if (message.type === "tournament" && message.id === this.#called?.id) this.#look(message, now);
    else if (holds(message)) this.#heldAt ??= now;
  }

  #take(called, now) {
    const { code, round, opponent, until_ms: left } = called;
    this.#called = called;
    this.#set(left, now);
    setText(this.text, `Round ${round}: your table${opponent ? ` against ${clean(opponent)}` : ""} waits for you.`);
    this.go.setAttribute("href", wayTo(code));
  }

  #look(told, now) {
    const { round, table: number } = this.#called;
    const table = told.round === round ? told.tables.find((each) => each.table === number) : null;
    if (isDone(told) || told.rounds.at(-1)?.number > round || (table && table.result !== null)) this.#called = null;
    else if (table) this.#set(table.no_show_ms, now);
  }

  #set(left, now) {
    this.#until = left === null ? null : now + left;
    this.#heldAt = null;
  }

  /** With the connection: after the next hello it is repeated, if it still stands. */
  lost() {
    this.#called = null;
    this.#followed = "";
  }

  /** Milliseconds until whoever is missing at the table in this room forfeits; null where none of them does. @param {string} code @param {number} now */
  left(code, now) {
    return this.#called?.code === code && this.#until !== null ? Math.max(this.#until - (this.#heldAt ?? now), 0) : null;
  }

  #follow() {
    const { id = "", round = null } = this.#called ?? {};
    if (id === this.#followed) return;
    if (this.#followed) this.connection.send({ type: "follow-tournament", id: this.#followed, follow: false });
    if (id) this.connection.send({ type: "follow-tournament", id, round });
    this.#followed = id;
  }

  /** here: the code of the race that the page is about. room: the one that the player sits in. Returns where the table is that waits elsewhere;
   * null where none does. @param {string | null} here @param {import("./played.js").PlayedRace | null} room @param {number} now @returns {string | null} */
  show(here, room, now) {
    // Once they race there the call has been followed.
    if (room && room.code === this.#called?.code && !room.isToBegin) this.#called = null;
    this.#follow();
    const called = this.#called;
    this.node.hidden = called === null || called.code === here;
    if (this.node.hidden) return null;
    const left = this.left(called.code, now);
    setText(this.within, left === null ? "" : ` Be there and ready within ${clockText(left)}, or you forfeit.`);
    // Read out once, and not every second.
    if (called !== this.#said) announce(this.node.firstElementChild.textContent);
    this.#said = called;
    return wayTo(called.code);
  }
}

/** To a seat that is the player's. @param {string} code */
function wayTo(code) {
  return `/play/${encodeURIComponent(code)}#sit`;
}
