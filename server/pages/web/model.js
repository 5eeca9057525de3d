// What is known of the watched race, as the messages to watchers tell it. Draws nothing. Moments are `performance.now()`'s.

import { clean, listed } from "./dom.js";
import { goesHome } from "./moves.js";

const LINES_KEPT = 100;

/** Whether it says that no time passes, since the server cannot keep anything; nothing that was asked for is refused by it.
 * @param {any} message @returns {message is import("carpet-wire").Error} */
export function holds(message) {
  return message.type === "error" && message.code === "server/cannot-write" && !message.ref;
}

export class WatchedRace {
  /** before: what was watched till now, if anything. */
  constructor(watched, now, before = null) {
    this.takeRoom(watched.room, now);
    // All that is known of a race that is over is in its record.
    if (!this.record) watched.curves?.forEach((curve, seat) => this.#takeCurve(seat, curve));
    // Some messages were lost, and this snapshot makes up for them: it knows nothing of the race before this one.
    const last = before?.code === this.code && before.race === this.race ? before.last : before?.finished;
    if (before?.code === this.code && last && this.isToBegin) this.last = last;
    for (const board of watched.boards) this.boards.set(board.seat, board);
    this.takeWatchers(watched.watchers, before?.code === this.code && before.isShownWhole);
    this.closest = watched.closest;
    this.takeTalk(watched.lines);
  }

  /** isWhole: somebody watches with the key of the boards. @param {number} count @param {boolean} [isWhole] */
  takeWatchers(count, isWhole = false) {
    this.watchers = count;
    this.isShownWhole = isWhole;
  }

  get watchersText() {
    return `${this.watchers} watching${this.isShownWhole ? ", all cards" : ""}`;
  }

  /** What players and watchers have said, in the order in which it was heard. linesHeard counts all there have ever been. */
  lines = [];
  linesHeard = 0;
  #talked = 0;

  /** Of the race before in this room, while the next one has not begun: `finished` of then. */
  last = null;

  /** The seats of the race that is over, as its record has them: that is closed while others have yet to play the deal. */
  ended = [];

  /** The race whose result is there to be looked at: its number, seats, curves and ratings, and its record if that is open. */
  get finished() {
    if (!this.ended.length) return this.isToBegin ? this.last : null;
    const { race, record, ended: seats, curves, ratings } = this;
    const foundations = this.seats.map((seat) => seat.foundations);
    return { race, id: record?.id ?? "", record, seats, foundations, end: Math.max(...seats.map((seat) => seat.ended_at_ms)), curves, ratings };
  }

  /** The races, or series, that each seat has won in this room against the same players, with the one that is over; none for the first. */
  get wonByNow() {
    const places = this.series ? (this.series.over ? this.series.seats : []) : this.ended;
    const first = places.flatMap(({ place }, seat) => (place === 1 ? [seat] : []));
    const isWon = first.length === 1 && !places[first[0]].gone && places[first[0]].state !== "forfeited";
    return this.won.map((count, seat) => count + Number(isWon && seat === first[0]));
  }

  get isToBegin() {
    return ["waiting", "countdown"].includes(this.phase);
  }

  /** A snapshot of the room replaces all that was known of it. */
  takeRoom(room, now) {
    const finished = this.ended.length ? this.finished : this.last;
    this.last = this.code === room.code && finished && finished.race < room.race ? finished : null;
    this.code = room.code;
    this.version = room.version;
    this.race = room.race;
    this.phase = room.phase;
    this.options = room.options;
    this.series = room.series;
    this.seats = room.seats.map((seat) => ({ ...seat, away: !seat.connected && seat.name !== null }));
    this.record = room.record;
    this.ended = room.record?.seats ?? room.ended ?? [];
    this.shared = room.shared ?? null;
    this.ratings = room.ratings ?? [];
    this.won = room.won ?? [];
    this.boards = new Map();
    this.startedAt = ["racing", "over"].includes(room.phase) ? now - room.elapsed_ms : null;
    // Since when no time passes, since the server cannot keep anything, and its words for that.
    this.#release();
    this.startsAt = room.starts_in_ms === null ? null : now + room.starts_in_ms;
    this.readyUntil = (room.ready_left_ms ?? null) === null ? null : now + room.ready_left_ms;
    // The next race of the same room: its players' lines have been heard.
    if (!this.linesHeard) this.#hearLines(room.chat, "player");
    // Seat to what is known of its way: how many cards were home when.
    this.curves = new Map(this.seats.map((seat) => [seat.seat, seat.state === "waiting" ? [] : [[seat.elapsed_ms, seat.home]]]));
    if (this.ended.length) this.#end(this.ended);
    if (this.record) this.#takeRecord(this.record);
  }

  /** No time passes until the server says anew how long the race has run. @param {string} why @param {number} now */
  hold(why, now) {
    if (this.phase === "over") return;
    this.heldAt ??= now;
    this.heldBecause = why;
  }

  #release() {
    this.heldAt = null;
    this.heldBecause = "";
  }

  /** Milliseconds until the start. */
  untilStart(now) {
    return Math.max(this.startsAt - (this.heldAt ?? now), 0);
  }

  /** Milliseconds until whoever is not ready loses their seat; null while nobody is waited for. */
  readyLeft(now) {
    return this.readyUntil === null ? null : Math.max(this.readyUntil - (this.heldAt ?? now), 0);
  }

  /** A room event. False when one was missed, and a new snapshot has to be asked for. */
  apply(event, now) {
    if (event.type === "room") {
      this.takeRoom(event, now);
      return true;
    }
    if (event.version <= this.version) return true;
    if (event.version !== this.version + 1) return false;
    this.version = event.version;
    const seat = this.seats[event.seat];
    switch (event.type) {
      case "seated":
        Object.assign(seat, { name: event.name, bot: event.bot, connected: true, away: false, left: false, ready: event.bot !== null });
        break;
      case "unseated":
        Object.assign(seat, { connected: false, away: false, again: false });
        // What they did in a race stays theirs.
        Object.assign(seat, this.isToBegin ? { name: null, bot: null } : { left: true });
        if (this.isToBegin) this.won = [];
        this.readyUntil = null;
        break;
      case "presence":
        Object.assign(seat, { connected: event.connected, away: !event.connected });
        break;
      case "player-ready":
        seat.ready = true;
        break;
      case "ready-due":
        this.readyUntil = now + event.left_ms;
        break;
      case "countdown":
        this.phase = "countdown";
        this.startsAt = now + event.starts_in_ms;
        break;
      case "started":
        this.phase = "racing";
        this.startsAt = null;
        this.#release();
        this.startedAt = now;
        this.seats.forEach((each, number) => {
          if (each.state === "waiting") each.state = "racing";
          if (!event.home?.length) return;
          each.home = event.home[number];
          // One's own are known, where they are hidden from the others.
          if (Object.keys(event.foundations[number]).length) each.foundations = event.foundations[number];
          if (!this.curves.get(each.seat).length) this.curves.set(each.seat, [[0, each.home]]);
        });
        break;
      case "progress":
        Object.assign(seat, {
          ply: event.ply, home: event.home, foundations: event.foundations, state: event.state, elapsed_ms: event.elapsed_ms,
        });
        this.curves.get(event.seat).push([event.elapsed_ms, event.home]);
        break;
      case "result":
        this.record = event.record;
        this.#end(event.record.seats);
        this.#takeRecord(event.record);
        break;
      case "ended":
        this.#end(event.seats);
        break;
      case "said":
        this.#hearLines([event.line], "player");
        break;
      case "scored":
        this.series = event.series;
        break;
      case "ratings":
        // In a series they come when the next race is open already.
        if (this.ended.length) this.ratings = event.seats;
        else if (this.last) this.last = { ...this.last, ratings: event.seats };
        break;
    }
    return true;
  }

  #takeCurve(seat, curve) {
    const points = curve.at_ms.map((ms, at) => [ms, curve.home[at]]);
    if (points.length && this.curves.has(seat)) this.curves.set(seat, points);
  }

  #end(seats) {
    this.phase = "over";
    this.#release();
    this.ended = seats;
    this.seats.forEach((seat, number) => {
      const { state, home, plies, name, bot, ended_at_ms } = seats[number];
      Object.assign(seat, { state, home, ply: plies, name, bot, elapsed_ms: ended_at_ms, left: seat.left || seat.name === null });
    });
  }

  #takeRecord(record) {
    this.curves = new Map(this.seats.map((seat) => [seat.seat, []]));
    for (const [seat, move, at, , , home] of record.moves) {
      const curve = this.curves.get(seat);
      // From the start on, with what the deal itself has brought home.
      if (!curve.length) curve.push([0, home - Number(goesHome(move))]);
      curve.push([at, home]);
    }
    record.seats.forEach((seat, number) => {
      const curve = this.curves.get(number);
      // Who played nothing had at the start what they had at the end: one point alone would draw no line.
      if (!curve.length) curve.push([0, seat.home]);
      curve.push([seat.ended_at_ms, seat.home]);
    });
  }

  takeBoard(message) {
    if (message.race === this.race) this.boards.set(message.board.seat, message.board);
  }

  takeTalk(lines) {
    this.#hearLines(lines.filter((line) => line.number > this.#talked), "watcher");
    this.#talked = Math.max(this.#talked, ...lines.map((line) => line.number));
  }

  #hearLines(lines, by) {
    this.lines = [...this.lines, ...lines.map((line) => ({ ...line, by }))].slice(-LINES_KEPT);
    this.linesHeard += lines.length;
  }

  /** The id of the tournament at a table of which it is run; else empty. */
  get tournament() {
    return this.shared?.kind === "round" ? this.shared.id.split("/")[0] : "";
  }

  /** Whether nobody who watches is shown its boards: others have yet to play its deal, or it is the first race of a swap. */
  get isWithheld() {
    if (this.shared) return !this.record;
    return this.options.series.format === "swap" && this.series?.raced === 0;
  }

  /** How long the race runs, or ran. */
  elapsed(now) {
    if (this.record) return this.record.ended_at_ms;
    if (this.ended.length) return this.finished.end;
    return this.startedAt === null ? 0 : (this.heldAt ?? now) - this.startedAt;
  }
}

/** What the end of a seat is called, as in the terminal. */
export const STATE_WORDS = {
  waiting: "",
  racing: "",
  won: "all home",
  stalled: "no moves",
  stopped: "stopped",
  forfeited: "forfeit",
  "out-of-time": "time up",
};

/** @template {{id: string}} T @param {T[]} each @returns {Map<string, T>} */
export function byId(each) {
  return new Map(each.map((one) => [one.id, one]));
}

/** How many cards a game has. rules: none where the server does not tell of them any more. */
export function cardsOf(rules) {
  return (rules?.decks ?? 1) * 52;
}

/** The same to the player of that seat, while others race. */
export const OWN_ENDS = {
  won: "Every card is home!",
  stalled: "You have no move left. The cards you brought home count.",
  stopped: "You stopped. The cards you brought home count.",
  forfeited: "You forfeited this race.",
  "out-of-time": "Your time is up.",
};

/** How a seat of a race ended, or nothing. The win of another stops those who are still racing, and so does a walkover: neither is their own choice. */
export function endWord(seat, seats) {
  const at = (each) => each.ended_at_ms ?? each.elapsed_ms;
  const isBeaten = seat.state === "stopped" && seats.some((other) => other.state === "won" && at(other) === at(seat));
  if (isBeaten) return "beaten";
  // Who is in a race has no place yet: whoever has all others forfeit is the first.
  const isWalkover = seat.state === "stopped" && [1, undefined].includes(seat.place) && seats.length > 1 && seats.filter(({ state }) => state !== "forfeited").length === 1;
  return isWalkover ? "walkover" : STATE_WORDS[seat.state];
}

/** How a rated race has ended that its player had left, and what it did to their rating. @param {import("carpet-wire").Rated} rated @param {string} own their name */
export function leftSentence({ won, rating }, own) {
  const others = won.filter((name) => name !== own).map(clean);
  const ended = !won.includes(own) ? `${listed(others) || "Nobody"} won the race you left.`
    : others.length ? `${listed(["You", ...others])} share first place in the race you left.` : "You won the race you left.";
  const change = rating.after - rating.before;
  return `${ended} Your rating: ${rating.after} (${change < 0 ? "−" : "+"}${Math.abs(change)}).`;
}

/** How one seat stands, in a few words. seats: all of its race. */
export function standing(seat, phase, seats = [seat]) {
  if (seat.name === null) return "open seat";
  const word = endWord(seat, seats);
  if (word) return word;
  if (seat.left) return "left";
  if (seat.away) return "away";
  if (phase === "waiting") return seat.ready ? "ready" : "not ready yet";
  return "";
}

/** What the lobby lists: races by code, in an order that changes only where one comes or goes. Each race that is run knows when it was heard of. */
export class LobbyModel {
  /** @param {import("carpet-wire").Lobby} message @param {number} now */
  constructor(message, now) {
    this.players = message.players;
    this.ratings = message.ratings;
    this.races = new Map(message.races.map((info) => [info.code, info]));
    this.running = new Map(message.running.map((info) => [info.code, { ...info, heardAt: now }]));
    this.#take(message, message.running[0]?.code ?? null);
  }

  /** A `lobby` that replaces this one: what is in both lists stays where it is. @param {import("carpet-wire").Lobby} message @param {number} now */
  replace(message, now) {
    const next = new LobbyModel(message, now);
    const kept = [...this.running.keys()].filter((code) => next.running.has(code));
    next.running = new Map([...kept, ...next.running.keys()].map((code) => [code, next.running.get(code)]));
    return next;
  }

  /** @param {import("carpet-wire").LobbyChanges} changes @param {number} now */
  apply(changes, now) {
    for (const code of changes.gone) {
      this.races.delete(code);
      this.running.delete(code);
    }
    for (const info of changes.races) this.races.set(info.code, info);
    for (const info of changes.running) this.running.set(info.code, { ...info, heardAt: now });
    for (const { code, watchers, elapsed_ms, homes, states } of changes.progress) {
      const known = this.running.get(code);
      const seats = known?.seats.map((seat, number) => ({ ...seat, home: homes[number], state: states[number] }));
      if (known) this.running.set(code, { ...known, watchers, elapsed_ms, seats, heardAt: now });
    }
    this.players = changes.players ?? this.players;
    this.ratings = changes.ratings ?? this.ratings;
    this.#take(changes, changes.closest);
  }

  #take({ players_here, races_open, races_running, seeking = 0 }, closest) {
    this.playersHere = players_here;
    this.racesOpen = races_open;
    this.racesRunning = races_running;
    this.seeking = seeking;
    this.closest = closest;
  }
}
