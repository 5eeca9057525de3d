// Tournaments in words, and the list of them on the first page.

import { capitalised, clean, clockText, counted, element, listed, nameOf, section, setText, showEach } from "./dom.js";

// These and all sentences below are the terminal's.
const FORMATS = { swiss: "Swiss", "round-robin": "round robin", elimination: "elimination", session: "session" };

const PHASES = {
  registration: "open",
  "check-in": "check-in",
  running: "running",
  between: "between rounds",
  paused: "paused",
  over: "over",
  ended: "called off",
};

/** Whether nobody plays in it any more. @param {{phase: string}} told */
export function isDone({ phase }) {
  return ["over", "ended"].includes(phase);
}

export function phaseWord(phase) {
  return PHASES[phase] ?? clean(phase);
}

/** Names by the ids of entrants. @param {any} told a `Tournament` @returns {Map<string, string>} */
export function namesOf(told) {
  return new Map(told.entrants.map((entrant) => [entrant.id, entrant.name]));
}

/** The seats of a race by the names that a tournament has for them: in races players keep their own, where its director has corrected one.
 * A name that is another entrant's by now stands as it is: nobody is shown under somebody else's.
 * @param {any} told a `Tournament`; null for a race of none @param {any[]} seats */
export function seatsIn(told, seats) {
  const names = new Set(told?.entrants.map((entrant) => entrant.name));
  const corrected = new Map(told?.entrants.filter(({ entered_as }) => entered_as && !names.has(entered_as)).map((entrant) => [entrant.entered_as, entrant.name]));
  return seats.map((seat) => ({ ...seat, name: corrected.get(seat.name) ?? seat.name }));
}

/** The names of who has won: nobody where every table was forfeited by both sides. @param {any} told a `Tournament` that is over @returns {string[]} */
export function winners(told) {
  const names = namesOf(told);
  return told.standings.filter((row) => row.place === 1 && (row.half_points || row.home)).map((row) => clean(names.get(row.entrant) ?? row.entrant));
}

/** Points and tie-breaks: "3½". */
export function quarters(number) {
  const whole = Math.floor(number / 4);
  const rest = ["", "¼", "½", "¾"][number % 4];
  return whole || !rest ? `${whole}${rest}` : rest;
}

/** "Swiss, 9 rounds", "double round robin". @param {import("carpet-wire").TournamentOptions} options */
export function formatWord({ format, rounds, double }) {
  const name = FORMATS[format] ?? clean(format);
  if (format === "swiss" && rounds) return `${name}, ${counted(rounds, "round")}`;
  if (format === "session" && rounds) return `${name} of ${rounds}`;
  return double ? `double ${name}` : name;
}

/** A tournament as it was told last, and the time since then; while the server cannot keep anything, none passes. */
export class Followed {
  told = null;
  #heardAt = 0;
  #heldAt = null;
  /** The server's words for why no time passes; empty while it does. */
  held = "";

  /** @param {import("carpet-wire").Tournament} told @param {number} now */
  take(told, now) {
    this.told = told;
    this.#heardAt = now;
    this.#heldAt = null;
    this.held = "";
  }

  /** Until it is told anew. @param {string} why @param {number} now */
  hold(why, now) {
    this.#heldAt ??= now;
    this.held = clean(why);
  }

  /** Milliseconds. @param {number} now */
  since(now) {
    return (this.#heldAt ?? now) - this.#heardAt;
  }

  /** How it stands, in a sentence. @param {number} now */
  sentence(now) {
    const left = this.told.phase_ms === null ? null : this.told.phase_ms - this.since(now);
    return [phaseSentence(this.told, left), this.held].filter(Boolean).join(" ");
  }
}

/** The decision that broke a tournament off; without an author it was the server's. @param {any} told a `Tournament` */
export function endingOf(told) {
  return told.log.findLast((each) => each.kind === "end");
}

/** How a tournament stands, in a sentence. left: milliseconds of the check-in or the pause, or null. */
export function phaseSentence(told, left) {
  const playing = told.entrants.filter((entrant) => !entrant.withdrawn);
  const last = told.rounds.at(-1);
  const number = last ? `Round ${last.number}${["swiss", "session"].includes(told.options.format) && told.options.rounds ? ` of ${told.options.rounds}` : ""}` : "";
  const rest = left === null ? "" : ` ${clockText(left)} left.`;
  const done = last ? `${last.tables - last.open} of ${counted(last.tables, "table")} done.` : "";
  switch (told.phase) {
    case "registration":
      return `Open to enter: ${playing.length} entered.`;
    case "check-in":
      return `Check-in: ${playing.filter((entrant) => entrant.checked_in).length} of ${playing.length} checked in.${rest}`;
    case "running":
      if (!last) return "The first round is being paired.";
      return `${number} is being raced: ${done}`;
    case "between":
      if (left === null) return `${number} is over; the director pairs the next one.`;
      return `${number} is over; the next one is ${left > 0 ? `paired in ${clockText(left)}` : "being paired"}.`;
    case "paused":
      if (last?.open === 0) return `Paused after r${number.slice(1)}.`;
      return last ? `Paused: races go on, but no new one starts; ${done}` : "Paused: no new race starts.";
    case "over": {
      const first = winners(told);
      return first.length ? `It is over: ${listed(first)} won.` : "It is over. Nobody won.";
    }
    case "ended":
      return `Called off${endingOf(told)?.author ? " by its director" : ""} before ${last ? "it was decided" : "the first round"}.`;
    default:
      return phaseWord(told.phase);
  }
}

/** Whether both sides had as many cards home, and one of them sooner. @param {any} result a `TableResult` */
export function isByTime({ verdict, first_home: one, second_home: other, forfeit, ruled, walkover }) {
  return !(forfeit || ruled || walkover) && ["first", "second"].includes(verdict) && one > 0 && one === other;
}

/** Who has won where no more cards home say it: those cards were there earlier, the other side resigned or was missing, or the director has ruled. @param {any} result a `TableResult` @param {string} first @param {string} second */
export function winnerText({ verdict, first_home: one, second_home: other, forfeit }, first, second) {
  if (forfeit && verdict === "neither") return "both forfeited";
  if (!["first", "second"].includes(verdict) || (!forfeit && (one === 0 || one !== other))) return "";
  return `${clean(verdict === "first" ? first : second)} won${forfeit ? " by forfeit" : ""}`;
}

/** The list: known by id, so that a line that stays is not touched. */
export class TournamentList {
  #known = new Map();

  /** @param {string} title */
  constructor(title) {
    this.list = element("ul", { class: "races", "aria-labelledby": "tournaments" });
    this.node = section("tournaments", title, this.list);
    // A server without tournaments shows no heading for them.
    this.node.hidden = true;
  }

  /** rules: by id. */
  show(listed, rules) {
    this.node.hidden = listed.length === 0;
    showEach(this.#known, this.list, listed, (info) => info.id, () => new Listed(), (line, info) => line.show(info, rules.get(info.rules)));
  }
}

class Listed {
  #name = null;

  constructor() {
    this.link = element("a", {});
    this.facts = element("p", { class: "facts" });
    this.stands = element("p", {});
    this.node = element("li", {}, element("article", {}, element("h3", {}, this.link), this.facts, this.stands));
  }

  show(info, rules) {
    if (info.name !== this.#name) {
      this.#name = info.name;
      this.link.replaceChildren(nameOf(info.name));
      this.link.setAttribute("href", `/tournament/${encodeURIComponent(info.id)}`);
    }
    setText(this.facts, `${capitalised(FORMATS[info.format] ?? clean(info.format))} · ${clean(rules?.name ?? info.rules)} · director ${clean(info.director)}`);
    const stands = info.phase === "running" && info.round ? `round ${info.round}` : phaseWord(info.phase);
    setText(this.stands, `${counted(info.entrants, "player")}, ${stands}${info.by_code && info.phase === "registration" ? ", by code" : ""}`);
  }
}
