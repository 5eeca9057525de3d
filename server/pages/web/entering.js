// One's own part in a tournament: entering, checking in, and the way to one's table. Who only looks on takes over no window in which they race.

import { hex } from "./sha256.js";
import { UNSENT, playerHello, watcherHello } from "./connection.js";
import { announce, button, clean, clockText, counted, element, field, isTyping, ordinal, setNotice, setText } from "./dom.js";
import { ask } from "./dialog.js";
import * as keeping from "./identity.js";
import { NameField, otherNameSentence } from "./start.js";
import { endingOf, isByTime, isDone, quarters } from "./tournaments.js";

/** Those that nobody can enter once they have begun. */
const CLOSED = ["round-robin", "elimination"];
/** `ref` of what is asked for here. What is asked for while that waits for an answer has the numbers above it. */
const ASKED = 7;

/** Whether it is a ruling on a tournament, of which the tournament shows whether it was carried out. @param {any} message */
function isRuling(message) {
  return ["correct-result", "remove-entrant", "rename-entrant", "give-bye", "end-tournament"].includes(message.type);
}

/** Whether nobody who enters now would play. @param {any} told a `Tournament` */
export function isFieldClosed({ rounds, options }) {
  return rounds.length > 0 && (CLOSED.includes(options.format) || rounds.length >= options.rounds);
}

/** An entrant's table of the round that is told; null where they have none. @param {any} told a `Tournament` @param {string} me */
export function tableOf(told, me) {
  return told.tables.find((table) => [table.first, table.second].includes(me)) ?? null;
}

/** What somebody can do, and what they are to do. me: their id, empty for a guest. next: what is next for them, without what their table of the round came to. @param {any} told a `Tournament` @param {string} me */
export function ownPart(told, me) {
  const own = told.entrants.find((entrant) => entrant.id === me) ?? null;
  const plays = own !== null && !own.withdrawn;
  const isOver = isDone(told);
  const isLast = told.round === told.rounds.length;
  const mine = isLast && plays ? tableOf(told, me) : null;
  const table = mine !== null && mine.code !== null && mine.result === null ? mine : null;
  const result = mine?.result ? ownResultSentence(told, mine, me) : "";
  const next = nextSentence(told, { own, plays, isOver, mine, table });
  return {
    own, plays, table, next,
    canEnter: !plays && !isOver && !isFieldClosed(told),
    canCheckIn: plays && !isOver && !own.checked_in && told.phase !== "registration" && told.options.check_in_s > 0,
    canLeave: plays && !isOver,
    bye: plays && !isOver ? byeAction(told, own) : "",
    sentence: [result, next].filter(Boolean).join(" "),
  };
}

/** The bye of an entrant in a round, asked for or given; undefined if they have none. @param {any} told @param {string} entrant @param {number} round */
export function byeOf(told, entrant, round) {
  return (told.byes ?? []).find((bye) => bye.entrant === entrant && bye.round === round);
}

/** What somebody who plays can do about a bye in the round that is paired next: `ask` for one, take it `back`, or nothing. @param {any} told @param {any} own */
function byeAction(told, own) {
  const number = told.rounds.length + 1, { format, byes = 0, rounds } = told.options;
  const bye = byeOf(told, own.id, number);
  if (bye) return bye.half_points === 1 ? "back" : "";
  const had = (told.byes ?? []).filter((each) => each.entrant === own.id && each.half_points === 1).length;
  return format === "swiss" && had < byes && (rounds ? number < rounds : number === 1) ? "ask" : "";
}

/** Whether somebody was knocked out. Of two who both forfeit in a double elimination it is not to be known. @param {any} told @param {string} me */
function isOut({ standings, options }, me) {
  return options.format === "elimination" && (standings.find((row) => row.entrant === me)?.lost ?? 0) > Number(options.double);
}

/** Whether a race that counts is running at a table. @param {any} table */
function isRaced({ counted, code, sides }) {
  return counted && code !== null && sides.some((side) => side.state === "racing");
}

/** What is next for somebody, or what has become of them. */
function nextSentence(told, { own, plays, isOver, mine, table }) {
  if (isOver) {
    const reason = told.phase === "ended" ? endingOf(told)?.reason : "";
    const row = own && told.standings.find((each) => each.entrant === own.id && each.won + each.drawn + each.lost > 0);
    const place = row && `You came ${ordinal(row.place)} of ${told.standings.length}${told.phase === "over" ? "" : ", as it stood"}.`;
    return [reason && `Reason: ${clean(reason)}.`, place || (own?.withdrawn ? outSentence(told, own) : "")].filter(Boolean).join(" ");
  }
  if (table) return `Table ${table.table} is yours, and waits for you.`;
  if (!plays && own) return outSentence(told, own);
  if (!plays && !told.rounds.length) return "To play: enter, check in when it is time, and go to your table.";
  if (!plays) return isFieldClosed(told) ? "" : "You can still enter, and play from the next round on.";
  // One that is paused once its round is over is between two.
  const isBetween = ["registration", "check-in", "between"].includes(told.phase) || (told.phase === "paused" && !told.rounds.at(-1)?.open);
  const bye = byeOf(told, own.id, told.rounds.length + Number(isBetween));
  if (bye) return `You have a bye in round ${bye.round}: ${quarters(2 * bye.half_points)}. Nobody waits for you.`;
  if (!own.checked_in && told.phase === "check-in") return "Check in, or you will be left out.";
  if (told.phase === "registration") return `You have entered as ${clean(own.name)}. The director will ${told.options.check_in_s > 0 ? "open the check-in" : "start it"}.`;
  if (mine?.result && told.rounds.at(-1).open !== 0) return "The round goes on.";
  // Struck, drawn or broken off.
  const waits = told.phase === "running" && mine !== null && mine.code === null && told.tables.some(isRaced);
  if (waits) return "Your table races again when the other tables are done. This page takes you there.";
  if (isOut(told, own.id)) return "You are out, and can watch the rest of it.";
  if (told.phase === "paused") return `You are in as ${clean(own.name)}. When the tournament goes on, this page takes you to your table.`;
  return `You are in as ${clean(own.name)}. When the next round is paired, this page takes you to your table.`;
}

/** "You won your table, 52 : 31 cards.", as one of its two sides is told; their own cards come first. @param {any} told a `Tournament` @param {any} table of it, with its result @param {string} me */
export function ownResultSentence({ options }, { first, result }, me) {
  const { verdict, first_home, second_home, forfeit } = result;
  const isFirst = first === me;
  const [mine, others] = isFirst ? [first_home, second_home] : [second_home, first_home];
  const ruled = result.ruled ? ", by ruling" : result.walkover ? ", by walkover" : "";
  // Alone: the table is won only with every card home.
  if (options.format === "session") return `Your table is finished: ${counted(mine, "card")} home.`;
  if (verdict === "neither") return "Neither of you won your table: both forfeited.";
  if (verdict === "draw") return `Your table is a draw, ${mine} : ${others} cards${ruled}.`;
  const hasWon = (verdict === "first") === isFirst;
  const told = `You ${hasWon ? "won" : "lost"} your table`;
  if (forfeit) return `${told} by forfeit${ruled}.`;
  if (isByTime(result)) return `${told}, ${mine} : ${others} cards: ${hasWon ? "you" : "they"} had them first.`;
  return `${told}, ${mine} : ${others} cards${ruled}.`;
}

/** So much is left for who is taken to their table to be ready there. */
export const HURRY_MS = 15_000;

/** Whether somebody is in the midst of a line or a choice that would go with the page, and there is time to end it. left: until they have to be at their table,
 * in milliseconds; null where it waits. @param {number | null} left */
function isInTheMidst(left) {
  return (left === null || left > HURRY_MS) && isTyping();
}

/** To a seat that is the player's. @param {string} code */
export function wayTo(code) {
  return `/play/${encodeURIComponent(code)}#sit`;
}

/** Go to a table that waits, called to now or before the page was opened: once in a tab, and not from the midst of something. Whether it is gone to.
 * left: until they have to be there, in milliseconds; null where it waits. @param {string} code @param {number | null} left */
export function takeTo(code, left) {
  if (keeping.tables.has(code) || isInTheMidst(left)) return false;
  keeping.tables.keep(code);
  location.assign(wayTo(code));
  return true;
}

/** Why an entrant plays no more, by `out` of `TournamentEntrant`: a word or two, and what they themselves are told. These are the terminal's. */
const OUT_WORDS = {
  withdrew: ["withdrawn", "You have withdrawn"],
  "not-checked-in": ["no check-in", "You were left out, since you had not checked in"],
  missed: ["missed rounds", "You are out, since you missed two rounds running"],
  removed: ["removed", "{director} has removed you"],
  banned: ["banned", "You are out, since the host of this server has banned you"],
};

/** @param {import("carpet-wire").TournamentEntrant} entrant */
export function outWord({ out }) {
  return OUT_WORDS[out]?.[0] ?? "withdrawn";
}

/** @param {any} told @param {any} own */
function outSentence(told, own) {
  const words = (OUT_WORDS[own.out]?.[1] ?? "You are not playing any more").replace("{director}", () => clean(told.director_name));
  return `${words}${own.out_reason ? `: ${clean(own.out_reason)}` : ""}.`;
}

/** The request to check in, with a new nonce. @param {string} id of the tournament @param {string} commitment its own */
export function checkIn(id, commitment) {
  const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
  // Kept before the server has it, so that the shuffle can be checked against it.
  keeping.entries.add(id, commitment, nonce);
  return { type: "check-in", id, nonce };
}

export class TakingPart {
  me = "";
  #wish = null;
  #isPlayer = false;
  /** What was asked for and is not answered. */
  #asked = [];
  #commitment = "";
  /** The request that the button about a bye sends. */
  #byeRequest = null;

  /** @param {import("./connection.js").Connection} connection @param {string} id */
  constructor(connection, id) {
    this.connection = connection;
    this.id = id;
    this.sentence = element("p", {});
    this.notice = element("p", { class: "notice", role: "status", hidden: true });
    this.name = new NameField(keeping.identity.name ?? keeping.proposedName(), (name) => this.send({ type: "rename", name, token: keeping.identity.token }));
    this.code = element("input", { id: "entry", maxlength: "32", autocomplete: "off" });
    this.codeField = field("Its code", this.code);
    this.codeField.hidden = true;
    this.enter = button("Enter", () => this.send({ type: "enter-tournament", id, code: this.codeField.hidden ? null : this.code.value }), { class: "main-button" });
    this.checkIn = button("Check in", () => this.send(checkIn(id, this.#commitment)), { class: "main-button" });
    this.leave = button("Withdraw", () => ask("Withdraw from the tournament?", ["Withdraw", "Stay"], () => this.send({ type: "leave-tournament", id })));
    this.bye = button("", () => this.send({ ...this.#byeRequest }), { hidden: true });
    this.go = element("a", { class: "main-link" }, "Go to your table");
    this.node = element("section", { class: "part", "aria-label": "Your part", hidden: true }, this.sentence, this.notice, this.name.node, this.codeField,
      element("p", { class: "actions" }, this.go, this.enter, this.checkIn, this.bye, this.leave));
  }

  /** The first message of each connection: a player's where something is to be done, else that of somebody who looks on. @returns {import("carpet-wire").Hello} */
  hello() {
    const { token, name } = keeping.identity;
    return this.#isPlayer ? playerHello(name ?? keeping.proposedName(), token) : watcherHello(token);
  }

  /** @param {import("carpet-wire").Welcome} welcome */
  up(welcome) {
    this.me = welcome.player;
    if (!this.#isPlayer) return;
    const { token, name } = keeping.identity;
    if (!token) this.#note(otherNameSentence(name, welcome.name));
    keeping.identity.keep(welcome.token, welcome.name);
    this.name.show(welcome.name);
    if (this.#wish) this.#ask(this.#wish);
    this.#wish = null;
  }

  /** Returns the rulings whose answers are lost with the connection: whether they were carried out, the tournament will show. */
  lost() {
    const asked = this.#asked;
    this.#asked = [];
    // It may have been done all the same, and not all of it may be done twice.
    if (!asked.every(isRuling)) this.#note("The connection was lost before the answer came. When it is back, look whether it was done.");
    return asked.filter(isRuling);
  }

  /** Another window of the same player has taken over: here one looks on. */
  taken() {
    this.#isPlayer = false;
    this.#asked = [];
    this.#note("You are playing in another window. Here you are watching.");
    this.connection.open();
  }

  /** Ask for something that only a player may. */
  send(message) {
    this.#note("");
    if (this.#isPlayer) return this.#ask(message) || this.#note(UNSENT);
    if (!keeping.identity.token) keeping.identity.propose(this.name.value || keeping.proposedName());
    this.#wish = message;
    this.#isPlayer = true;
    this.connection.restart();
  }

  /** Whether it has gone out. */
  #ask(message) {
    const asked = { ...message, ref: Math.max(ASKED - 1, ...this.#asked.map(({ ref }) => ref)) + 1 };
    const isSent = this.connection.send(asked);
    if (isSent) this.#asked.push(asked);
    return isSent;
  }

  /** @param {import("carpet-wire").ServerMessage} message */
  hear(message) {
    const asked = this.#asked.find(({ ref }) => "ref" in message && message.ref === ref);
    this.#asked = this.#asked.filter((each) => each !== asked);
    if (message.type === "called" && message.id === this.id) takeTo(message.code, message.until_ms);
    else if (message.type === "you-are") this.name.show(message.name);
    else if (message.type === "decided" && asked) announce("It is done.");
    else if (message.type === "error" && message.code === "hello/unknown-token") {
      const { name } = keeping.identity;
      keeping.identity.forget();
      this.#isPlayer = false;
      this.#wish = null;
      this.connection.send(this.hello());
      this.#note(`The server no longer knows you as ${clean(name)}. Your key to that name stays in this browser: you can try it again under Play.`);
    } else if (message.type === "error" && (asked || this.#wish)) this.#note(clean(message.message));
  }

  #note(text) {
    if (text) this.node.hidden = false;
    setNotice(this.notice, text);
  }

  /** @param {any} told a `Tournament` @param {number} since milliseconds since it was told */
  show(told, since) {
    this.#commitment = told.commitment;
    const part = ownPart(told, this.me);
    const { own, table } = part;
    // Whoever only directs has no other part in it than what they are told.
    this.node.hidden = !part.sentence && !part.canEnter && this.notice.hidden;
    const left = table && table.no_show_ms !== null ? Math.max(table.no_show_ms - since, 0) : null;
    setText(this.sentence, part.sentence + (left === null ? "" : ` ${clockText(left)} left until whoever is missing forfeits.`));
    this.name.node.hidden = this.me !== "" || !part.canEnter;
    this.codeField.hidden = !part.canEnter || !told.by_code || part.own !== null;
    this.enter.hidden = !part.canEnter;
    setText(this.enter, part.own ? "Enter again" : "Enter");
    this.checkIn.hidden = !part.canCheckIn;
    this.leave.hidden = !part.canLeave;
    const number = told.rounds.length + 1;
    this.bye.hidden = !part.bye;
    this.#byeRequest = { type: "ask-bye", id: this.id, round: number, ask: part.bye === "ask" };
    setText(this.bye, part.bye === "ask" ? `Half-point bye in round ${number}` : `Take back the bye in round ${number}`);
    this.go.hidden = !table;
    if (!table) return;
    this.go.setAttribute("href", wayTo(table.code));
    // Who only looks on takes no race from the window or terminal in which they are: there they are called as well.
    if (this.#isPlayer || (!own.here && document.visibilityState === "visible")) takeTo(table.code, left);
  }
}
