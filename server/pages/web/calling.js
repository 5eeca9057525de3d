// The call to one's table of a tournament: what it says, how long one has to be there and ready, and when there is nothing left to go to; and what
// became of the table before, of which whoever forfeits it hears nothing else.
//
// Nobody is told that a call stands no longer, or why a table was closed. So the tournament is followed, with the tables of that round.
//
// Several tournaments may call at once: the most urgent call stands first.

import { announce, arrange, clean, clockText, element, setText } from "./dom.js";
import { HURRY_MS, ownPart, ownResultSentence, tableOf, takeTo, wayTo } from "./entering.js";
import { holds } from "./model.js";
import { isDone, phaseSentence } from "./tournaments.js";

/** So long a result is seen before the next table is gone to. */
const RESULT_MS = 8000;
/** So long after a call others may come that are more urgent: a new page hears of all, one after the other. */
const SETTLE_MS = 300;

/** @typedef {{id: string, round: number}} Round of a tournament */
/** at: when it was heard. until: when whoever is missing at the table forfeits. heldAt: since when clocks stand still.
 * @typedef {{called: import("carpet-wire").Called, at: number, until: number | null, heldAt: number | null, isSaid: boolean, text: Element, within: Element, node: HTMLElement}} Waiting */

export class Call {
  /** What is called to, by tournament. @type {Map<string, Waiting>} */
  #calls = new Map();
  /** What is followed. @type {Round | null} */
  #followed = null;
  /** Of what became of their table there they are to be told. @type {Round | null} */
  #closed = null;
  /** What they were told of that. @type {(Round & {result: string, next: string}) | null} */
  #became = null;
  #me = "";

  /** @param {{send: (message: import("carpet-wire").ClientMessage) => boolean}} connection */
  constructor(connection) {
    this.connection = connection;
    this.node = element("div", { class: "call", hidden: true });
  }

  /** @param {import("carpet-wire").ServerMessage} message @param {number} now */
  hear(message, now) {
    if (message.type === "called") this.#take(message, now);
    else if (holds(message)) for (const each of this.#calls.values()) each.heldAt ??= now;
    else if (message.type === "tournament") {
      if (this.#calls.has(message.id)) this.#look(message, now);
      if (message.id === this.#closed?.id && message.round === this.#closed.round) this.#tell(message);
    }
  }

  /** The most urgent first. */
  get #waiting() {
    return [...this.#calls.values()].sort((one, other) => (one.until ?? Number.MAX_VALUE) - (other.until ?? Number.MAX_VALUE));
  }

  /** The call to the table in a room. @param {string | undefined} code */
  #to(code) {
    return this.#waiting.find(({ called }) => called.code === code);
  }

  #take(called, now) {
    const { id, code, round, until_ms: left } = called;
    const [text, within] = [element("span", {}), element("span", {})];
    const node = element("p", { class: "notice actions" }, element("span", {}, text, within), element("a", { class: "main-link", href: wayTo(code) }, "Go to your table"));
    this.#calls.set(id, { called, at: now, ...standing(left, now), isSaid: false, text, within, node });
    // What is next there is followed no longer, and what an earlier round came to is old.
    if (this.#became && this.#became.id !== id) this.#became.next = "";
    else if (this.#became && this.#became.round < round - 1) this.#became = null;
    const isTold = this.#became?.id === id && Boolean(this.#became.result || this.#became.round === round);
    const isAsked = this.#closed?.id === id && this.#closed.round >= round - 1;
    // Whoever has forfeited the table before may have been elsewhere, and this page be a new one.
    if (isTold) this.#closed = null;
    else if (!isAsked) this.#closed = round > 1 ? { id, round: round - 1 } : null;
  }

  #look(told, now) {
    const call = this.#calls.get(told.id);
    const { id, round, table: number } = call.called;
    const table = told.round === round ? told.tables.find((each) => each.table === number) : null;
    // Before they have come.
    if (table?.result || isDone(told)) this.#closed = { id, round };
    if (isDone(told) || told.rounds.at(-1)?.number > round || table?.result) this.#calls.delete(id);
    else if (table) Object.assign(call, standing(table.no_show_ms, now));
  }

  /** What became of their table. */
  #tell(told) {
    const { id, round } = this.#closed;
    const before = this.became?.sentence;
    const table = tableOf(told, this.#me);
    const result = table?.result ? ownResultSentence(told, table, this.#me) : "";
    // The end of a race that they have raced they have seen.
    const isNews = this.#became?.id === id || !this.#calls.has(id) || table?.result?.forfeit || table?.result?.ruled;
    // Nobody is called in a later round where they have no table, or one that was decided as it was paired.
    const isBehind = !this.#calls.has(id) && told.round < told.rounds.length;
    // Where another tournament calls, this one is followed no longer than to the result.
    const isLast = this.#calls.has(id) || (isDone(told) && !isBehind) || (result && this.#calls.size > 0);
    const next = isBehind || (isLast && !isDone(told)) ? "" : [told.phase === "ended" ? phaseSentence(told, null) : "", ownPart(told, this.#me).next].filter(Boolean).join(" ");
    // To an open table they are about to be called, and are told then of the one before.
    const isToCome = table?.counted && !table.result && !isDone(told) && this.#became?.result && this.#became.round < round;
    if (isNews && !isToCome) this.#became = { id, round, result, next };
    if (isLast) this.#closed = null;
    else if (isBehind) this.#closed = { id, round: told.rounds.length };
    const sentence = this.became?.sentence;
    if (sentence && sentence !== before) announce(sentence);
  }

  /** Of which tournament a table was closed, and what became of it. @returns {{id: string, sentence: string} | null} */
  get became() {
    if (!this.#became) return null;
    const { id, round, result, next } = this.#became;
    const called = this.#calls.get(id)?.called;
    if (!called) return { id, sentence: [result, next].filter(Boolean).join(" ") };
    return { id, sentence: result && called.round > round ? `Round ${round}: ${result}` : "" };
  }

  /** They hold no seat at their table any more. @param {import("./played.js").PlayedRace} room */
  closed(room) {
    const [id, round] = room.shared.id.split("/");
    if (this.#to(room.code)) this.#calls.delete(id);
    this.#closed = { id, round: Number(round) };
    this.#became = { ...this.#closed, result: "", next: "" };
  }

  /** They have read what became of their table, and turn to something else. */
  dismiss() {
    this.#closed = this.#became = null;
  }

  /** me: the player's id. */
  up(me) {
    this.#followed = null;
    if (me === this.#me) return;
    this.#me = me;
    this.#calls.clear();
    this.dismiss();
  }

  /** With the connection: after the next hello it is repeated, if it still stands. */
  lost() {
    this.#calls.clear();
    this.#followed = null;
  }

  /** Milliseconds until whoever is missing at the table in this room forfeits; null where none of them does. @param {string} code @param {number} now */
  left(code, now) {
    const { until = null, heldAt = null } = this.#to(code) ?? {};
    return until === null ? null : Math.max(until - (heldAt ?? now), 0);
  }

  /** Go to the table that waits elsewhere: what somebody looks at or writes they may end first, as long as they have time for it.
   * resultAt: when a result came to be seen that still is. @param {string | null} here @param {number | null} resultAt @param {number} now */
  follow(here, resultAt, now) {
    if (this.#waiting.some(({ at }) => now - at < SETTLE_MS)) return;
    this.#waiting.some(({ called: { code } }) => {
      const left = this.left(code, now);
      const isSeen = resultAt === null || now - resultAt >= RESULT_MS || (left !== null && left <= HURRY_MS);
      return code !== here && isSeen && takeTo(code, left);
    });
  }

  #follow() {
    const before = this.#followed;
    const { id = "", round = null } = this.#closed ?? this.#waiting[0]?.called ?? {};
    if (id === (before?.id ?? "") && round === (before?.round ?? null)) return;
    if (before && id !== before.id) this.connection.send({ type: "follow-tournament", id: before.id, follow: false });
    if (id) this.connection.send({ type: "follow-tournament", id, round });
    this.#followed = id ? { id, round } : null;
  }

  /** here: the code of the race that the page is about. room: the one that the player sits in.
   * @param {string | null} here @param {import("./played.js").PlayedRace | null} room @param {number} now */
  show(here, room, now) {
    // Once they race there the call has been followed.
    const followed = room && !room.isToBegin && this.#to(room.code);
    if (followed) this.#calls.delete(followed.called.id);
    // What became of one table is of no interest at the end of another.
    if (room && !(room.tournament && room.isToBegin)) this.dismiss();
    this.#follow();
    const elsewhere = this.#waiting.filter(({ called }) => called.code !== here);
    this.node.hidden = elsewhere.length === 0;
    arrange(this.node, elsewhere.map(({ node }) => node));
    for (const call of elsewhere) {
      const { name, round, code, opponent } = call.called;
      const left = this.left(code, now);
      const which = this.#calls.size > 1 ? `${clean(name)}, round ${round}` : `Round ${round}`;
      setText(call.text, `${which}: your table${opponent ? ` against ${clean(opponent)}` : ""} waits for you.`);
      setText(call.within, left === null ? "" : ` Be there and ready within ${clockText(left)}, or you forfeit.`);
      // Read out once, and not every second.
      if (!call.isSaid) announce(call.text.textContent + call.within.textContent);
      call.isSaid = true;
    }
  }
}

/** @param {number | null} left @param {number} now */
function standing(left, now) {
  return { until: left === null ? null : now + left, heldAt: null };
}
