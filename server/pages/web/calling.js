// The call to one's table of a tournament: what it says, how long one has to be there and ready, and when there is nothing left to go to; and what
// became of the table before, of which whoever forfeits it hears nothing else.
//
// Nobody is told that a call stands no longer, or why a table was closed. So the tournament is followed, with the tables of that round.
//
// A table that comes while the page is open is gone to by itself. One that waited when it was opened is gone to by its link: they may have left it.

import { announce, clean, clockText, element, setText } from "./dom.js";
import { HURRY_MS, isInTheMidst, ownPart, ownResultSentence, tableOf, wayTo } from "./entering.js";
import { holds } from "./model.js";
import { isDone } from "./tournaments.js";

/** So long a result is seen before the next table is gone to. */
const RESULT_MS = 8000;
/** `ref` of the question whose answer comes after all that a new page is told. */
const GREETED = 9;

/** @typedef {{id: string, round: number}} Round of a tournament */

export class Call {
  /** @type {import("carpet-wire").Called | null} */
  #called = null;
  #until = null;
  #heldAt = null;
  #said = null;
  /** What is followed. @type {Round | null} */
  #followed = null;
  /** Of what became of their table there they are to be told. @type {Round | null} */
  #closed = null;
  /** What they were told of that. @type {(Round & {result: string, next: string}) | null} */
  #became = null;
  #me = "";
  /** Whether all was heard that comes with the hello, and what is called from now on is new. */
  #isGreeted = false;
  /** The code of the table that they have been taken to, have come to, or found waiting: it is not gone to by itself once more. */
  goesTo = "";

  /** @param {{send: (message: import("carpet-wire").ClientMessage) => boolean}} connection */
  constructor(connection) {
    this.connection = connection;
    this.text = element("span", {});
    this.within = element("span", {});
    this.go = element("a", { class: "main-link" }, "Go to your table");
    this.node = element("p", { class: "notice actions call", hidden: true }, element("span", {}, this.text, this.within), this.go);
  }

  /** Returns whether it was an answer to what is asked here. @param {import("carpet-wire").ServerMessage} message @param {number} now */
  hear(message, now) {
    if ("ref" in message && message.ref === GREETED) return (this.#isGreeted = true);
    if (message.type === "called") this.#take(message, now);
    else if (holds(message)) this.#heldAt ??= now;
    else if (message.type === "tournament") {
      if (message.id === this.#called?.id) this.#look(message, now);
      if (message.id === this.#closed?.id && message.round === this.#closed.round) this.#tell(message);
    }
    return false;
  }

  #take(called, now) {
    const { id, code, round, opponent, until_ms: left } = called;
    this.#called = called;
    if (!this.#isGreeted) this.goesTo = code;
    this.#set(left, now);
    // What is next there is followed no longer, and what an earlier round came to is old.
    if (this.#became && this.#became.id !== id) this.#became.next = "";
    else if (this.#became && this.#became.round < round - 1) this.#became = null;
    const isTold = this.#became?.id === id && Boolean(this.#became.result || this.#became.round === round);
    const isAsked = this.#closed?.id === id && this.#closed.round >= round - 1;
    // Whoever has forfeited the table before may have been elsewhere, and this page be a new one.
    if (isTold) this.#closed = null;
    else if (!isAsked) this.#closed = round > 1 ? { id, round: round - 1 } : null;
    setText(this.text, `Round ${round}: your table${opponent ? ` against ${clean(opponent)}` : ""} waits for you.`);
    this.go.setAttribute("href", wayTo(code));
  }

  #look(told, now) {
    const { id, round, table: number } = this.#called;
    const table = told.round === round ? told.tables.find((each) => each.table === number) : null;
    // Before they have come.
    if (table?.result) this.#closed = { id, round };
    if (isDone(told) || told.rounds.at(-1)?.number > round || table?.result) this.#called = null;
    else if (table) this.#set(table.no_show_ms, now);
  }

  /** What became of their table. */
  #tell(told) {
    const { id, round } = this.#closed;
    const before = this.became?.sentence;
    const table = tableOf(told, this.#me);
    const result = table?.result ? ownResultSentence(table, this.#me) : "";
    // The end of a race that they have raced they have seen.
    const isNews = this.#became?.id === id || this.#called?.id !== id || table?.result?.forfeit || table?.result?.ruled;
    if (isNews) this.#became = { id, round, result, next: told.round === told.rounds.length ? ownPart(told, this.#me).next : "" };
    if (this.#called?.id === id || isDone(told)) this.#closed = null;
    const sentence = this.became?.sentence;
    if (sentence && sentence !== before) announce(sentence);
  }

  /** Of which tournament a table was closed, and what became of it. @returns {{id: string, sentence: string} | null} */
  get became() {
    if (!this.#became) return null;
    const { id, round, result, next } = this.#became;
    if (this.#called?.id !== id) return { id, sentence: [result, next].filter(Boolean).join(" ") };
    return { id, sentence: result && this.#called.round > round ? `Round ${round}: ${result}` : "" };
  }

  /** They hold no seat at their table any more. @param {import("./played.js").PlayedRace} room */
  closed(room) {
    const [id, round] = room.shared.id.split("/");
    if (this.#called?.code === room.code) this.#called = null;
    this.#closed = { id, round: Number(round) };
    this.#became = { ...this.#closed, result: "", next: "" };
  }

  /** They have read what became of their table, and turn to something else. */
  dismiss() {
    this.#closed = this.#became = null;
  }

  #set(left, now) {
    this.#until = left === null ? null : now + left;
    this.#heldAt = null;
  }

  /** me: the player's id. */
  up(me) {
    this.#followed = null;
    if (me !== this.#me) {
      this.#me = me;
      this.#called = null;
      this.#isGreeted = false;
      this.goesTo = "";
      this.dismiss();
    }
    if (me && !this.#isGreeted) this.connection.send({ type: "who-am-i", ref: GREETED });
  }

  /** With the connection: after the next hello it is repeated, if it still stands. */
  lost() {
    this.#called = null;
    this.#followed = null;
  }

  /** Milliseconds until whoever is missing at the table in this room forfeits; null where none of them does. @param {string} code @param {number} now */
  left(code, now) {
    return this.#called?.code === code && this.#until !== null ? Math.max(this.#until - (this.#heldAt ?? now), 0) : null;
  }

  /** Whether it is time to go to the table that waits, which happens once: what somebody looks at or writes they may end first, as long as they have time for it.
   * resultAt: when a result came to be seen that still is. @param {number | null} resultAt @param {number} now */
  isDue(resultAt, now) {
    const { code } = this.#called;
    if (code === this.goesTo) return false;
    const left = this.left(code, now);
    const isSeen = resultAt === null || now - resultAt >= RESULT_MS || (left !== null && left <= HURRY_MS);
    return isSeen && !isInTheMidst(left);
  }

  #follow() {
    const before = this.#followed;
    const { id = "", round = null } = this.#closed ?? this.#called ?? {};
    if (id === (before?.id ?? "") && round === (before?.round ?? null)) return;
    if (before && id !== before.id) this.connection.send({ type: "follow-tournament", id: before.id, follow: false });
    if (id) this.connection.send({ type: "follow-tournament", id, round });
    this.#followed = id ? { id, round } : null;
  }

  /** here: the code of the race that the page is about. room: the one that the player sits in. Returns the code of the table that waits elsewhere;
   * null where none does. @param {string | null} here @param {import("./played.js").PlayedRace | null} room @param {number} now @returns {string | null} */
  show(here, room, now) {
    // Once they race there the call has been followed.
    if (room && room.code === this.#called?.code && !room.isToBegin) this.#called = null;
    // What became of one table is of no interest at the end of another.
    if (room && !(room.tournament && room.isToBegin)) this.dismiss();
    this.#follow();
    const called = this.#called;
    this.node.hidden = called === null || called.code === here;
    if (this.node.hidden) return null;
    const left = this.left(called.code, now);
    setText(this.within, left === null ? "" : ` Be there and ready within ${clockText(left)}, or you forfeit.`);
    // Read out once, and not every second.
    if (called !== this.#said) announce(this.node.firstElementChild.textContent);
    this.#said = called;
    return called.code;
  }
}
