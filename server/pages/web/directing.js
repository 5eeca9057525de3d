// What the director of a tournament decides, by the page. Whether it may be decided now is the server's to say.

import { ask, tell } from "./dialog.js";
import { button, capitalised, clean, element, field, fill, setText } from "./dom.js";
import { byeOf, isFieldClosed, outWord } from "./entering.js";
import { isDone, namesOf } from "./tournaments.js";

/** What may be said of a table, as the terminal has it. @type {[string, {verdict: "first" | "second" | "draw" | "neither", forfeit?: boolean} | null][]} */
const VERDICTS = [
  ["{first} wins", { verdict: "first" }],
  ["{second} wins", { verdict: "second" }],
  ["Draw", { verdict: "draw" }],
  ["{first} wins by forfeit", { verdict: "first", forfeit: true }],
  ["{second} wins by forfeit", { verdict: "second", forfeit: true }],
  ["Both forfeit", { verdict: "neither", forfeit: true }],
  ["Strike the result and reopen the table", null],
];

/** What an entrant has, by the half points that are given them for a round, as the terminal has it. */
const BYES = ["no bye any more", "a half-point bye", "a full-point bye"];

/** The message by which a result is entered, corrected or struck. @param {any} told a `Tournament` @param {any} table of its round @param {number} verdict of `VERDICTS` @param {string} reason @returns {import("carpet-wire").CorrectResult} */
export function correction(told, table, verdict, reason) {
  const said = VERDICTS[verdict][1];
  const { first_home = 0, second_home = 0 } = table.result ?? {};
  return {
    type: "correct-result", id: told.id, round: told.round, table: table.table, reason,
    // The last race that has a result, or the one that has none yet.
    race: table.result ? Math.max(table.races.length, 1) : table.races.length + 1,
    result: said && { first_home, second_home, forfeit: false, ...said },
  };
}

/** @typedef {import("carpet-wire").CorrectResult | import("carpet-wire").RemoveEntrant | import("carpet-wire").RenameEntrant | import("carpet-wire").GiveBye | import("carpet-wire").EndTournament} Ruling */

/** Whether a ruling was carried out, or its race has had another result since. before: the one that it had when this was sent.
 * @param {any} told a `Tournament`, of the round that the ruling is about @param {Ruling} ruling @param {any} before */
function isSettled(told, ruling, before) {
  switch (ruling.type) {
    case "correct-result": {
      const known = knownResult(told, ruling);
      return JSON.stringify(known) !== JSON.stringify(before) || verdictOf(known) === verdictOf(ruling.result);
    }
    case "remove-entrant": return told.entrants.some((each) => each.id === ruling.entrant && each.withdrawn === ruling.remove);
    case "rename-entrant": return told.entrants.some((each) => each.id === ruling.entrant && clean(each.name) === clean(ruling.name));
    case "give-bye": return (byeOf(told, ruling.entrant, ruling.round)?.half_points ?? 0) === ruling.half_points;
    case "end-tournament": return isDone(told);
  }
}

/** @param {any} ruling */
function raceOf(ruling) {
  return `${ruling.round}/${ruling.table}/${ruling.race}`;
}

/** The result of the race that a ruling is about. @param {any} told @param {Ruling} ruling */
function knownResult(told, ruling) {
  if (ruling.type !== "correct-result" || ruling.round !== told.round) return null;
  return told.tables.find((table) => table.table === ruling.table)?.races[ruling.race - 1] ?? null;
}

/** @param {any} told a `Tournament`, of the round that the ruling is about @param {Ruling} ruling */
function rulingWords(told, ruling) {
  const nameOf = (entrant) => clean(namesOf(told).get(entrant) ?? entrant);
  switch (ruling.type) {
    case "correct-result": {
      const [words] = VERDICTS.find(([, verdict]) => verdictOf(verdict) === verdictOf(ruling.result));
      const table = told.tables.find((each) => each.table === ruling.table) ?? { first: null, second: null };
      return `round ${ruling.round}, table ${ruling.table}: ${named(words, told, table)}`;
    }
    case "remove-entrant": return `${nameOf(ruling.entrant)} is ${ruling.remove ? "removed" : "let back in"}`;
    case "rename-entrant": return `${nameOf(ruling.entrant)} is called ${clean(ruling.name)}`;
    case "give-bye": return `${nameOf(ruling.entrant)} has ${BYES[ruling.half_points]} in round ${ruling.round}`;
    case "end-tournament": return "the tournament ends";
  }
}

/** What a director decides of a result: who won, and whether by forfeit. */
function verdictOf(result) {
  return result ? `${result.verdict}${result.forfeit ? " by forfeit" : ""}` : "";
}

/** The words of a verdict, with the names of both sides. @param {string} words @param {any} told @param {any} table */
function named(words, told, table) {
  const [first, second] = sideNames(told, table);
  return words.replace("{first}", () => first).replace("{second}", () => second);
}

function sideNames(told, table) {
  const names = namesOf(told);
  return [table.first, table.second].map((side) => (side === null ? "the house" : clean(names.get(side) ?? side)));
}

/** Which of the director's buttons mean something now. @param {any} told */
export function decisionsOf(told) {
  const isOpen = ["registration", "check-in"].includes(told.phase);
  return {
    start: isOpen ? (told.phase === "registration" && told.options.check_in_s > 0 ? "Open the check-in" : "Pair the first round") : "",
    extend: told.phase === "check-in" ? "Two more minutes" : "",
    pause: isOpen || isDone(told) ? "" : told.phase === "paused" ? "Go on" : "Pause",
    pair: told.phase === "between" ? `Pair round ${told.rounds.length + 1} now` : "",
    end: isDone(told) ? "" : "End the tournament",
  };
}

/** Whom the first round would leave out if it were paired now; empty if nobody. @param {any} told a `Tournament` */
export function missingText(told) {
  const missing = told.phase === "check-in" ? told.entrants.filter((entrant) => !entrant.withdrawn && !entrant.checked_in) : [];
  return missing.length > 1 ? `the ${missing.length} who have not checked in` : missing.map((entrant) => clean(entrant.name)).join();
}

export class Directing {
  #told = null;
  /** The rulings whose answers were lost, each with the result that its race had when it was sent. @type {{ruling: Ruling, before: any}[]} */
  #lost = [];
  /** These results, by race: `round/table/race`. @type {Map<string, any>} */
  #ruledOn = new Map();
  /** What was told last before that. */
  #toldBefore = null;

  /** @param {(message: object) => void} send */
  constructor(send) {
    this.send = (message) => {
      if (message.type === "correct-result" && message.round === this.#told.round) this.#ruledOn.set(raceOf(message), knownResult(this.#told, message));
      send(message);
    };
    const decide = (message) => this.send({ id: this.#told.id, ...message });
    // What was asked is what is sent, however the tournament goes on meanwhile. A reason is that of one decision.
    const rule = (question, answers, message, andThen = null) => {
      const ruling = { id: this.#told.id, reason: this.reason.value.trim(), ...message };
      ask(`${question}${ruling.reason && ` Reason: ${clean(ruling.reason)}`}`, answers, () => {
        this.send(ruling);
        this.reason.value = "";
        andThen?.();
      });
    };
    this.start = button("", () => {
      const message = { type: "start-tournament" }, whom = missingText(this.#told);
      if (whom) ask(`Pair the first round without ${whom}?`, ["Pair it", "Wait"], () => decide(message));
      else decide(message);
    }, { class: "main-button" });
    this.extend = button("", () => decide({ type: "extend-check-in", more_s: 120 }));
    this.pause = button("", () => decide({ type: "pause-tournament", pause: this.#told.phase !== "paused" }));
    this.pair = button("", () => decide({ type: "pair-round", round: this.#told.rounds.length + 1 }), { class: "main-button" });
    this.end = button("", () => rule("End the tournament now? The standings stay.", ["End it", "Go on"], { type: "end-tournament" }));
    this.boards = button("All boards on a screen …", () => send({ type: "ask-boards-key", code: this.#told.tables.find((table) => table.code !== null).code }));
    this.boardsLink = element("a", {}, "Open the screen with all boards");
    this.boardsLine = element("p", { hidden: true }, this.boardsLink, " Show it where its players cannot see it; they are told that somebody sees all cards.");
    this.bot = element("select", { id: "with-bot" });
    this.addBot = button("Add it", () => decide({ type: "add-bot", bot: this.bot.value }));
    this.table = element("select", { id: "of-table" });
    this.verdict = element("select", { "aria-label": "Result" });
    this.correct = button("Decide", () => this.#withTable((table) => {
      const message = correction(this.#told, table, Number(this.verdict.value), this.reason.value.trim());
      rule(`${capitalised(rulingWords(this.#told, message))}?`, ["Confirm", "Leave it"], message);
    }));
    this.entrant = element("select", { id: "of-player" });
    this.remove = button("", () => {
      const entrant = this.#told.entrants.find((each) => each.id === this.entrant.value);
      if (!entrant) return;
      const what = entrant.withdrawn ? "Let back in" : "Remove";
      rule(`${what}: ${clean(entrant.name)}?`, [what, "Leave it"], { type: "remove-entrant", entrant: entrant.id, remove: !entrant.withdrawn });
    });
    this.newName = element("input", { id: "new-name", maxlength: "24", autocomplete: "off" });
    this.rename = button("Correct it", () => {
      const entrant = this.#told.entrants.find((each) => each.id === this.entrant.value), name = this.newName.value.trim();
      if (!entrant || !name) return;
      rule(`${clean(entrant.name)} is called ${clean(name)} from now on, in this tournament?`, ["Correct it", "Leave it"],
        { type: "rename-entrant", entrant: entrant.id, name }, () => { this.newName.value = ""; });
    });
    // In the round that is paired next; or none, if they have one.
    const giveBye = (points) => {
      const round = this.#told.rounds.length + 1, entrant = this.#told.entrants.find((each) => each.id === this.entrant.value);
      if (!entrant) return;
      const half_points = byeOf(this.#told, entrant.id, round) ? 0 : points;
      const what = ["Take away the bye", "Half-point bye", "Full-point bye"][half_points];
      rule(`${what} of ${clean(entrant.name)} in round ${round}?`, [what, "Leave it"], { type: "give-bye", entrant: entrant.id, round, half_points });
    };
    this.bye = button("", () => giveBye(2));
    this.halfBye = button("Half-point bye", () => giveBye(1));
    this.reason = element("input", { id: "reason", maxlength: "200", autocomplete: "off" });
    this.ofTable = field("A result", this.table, this.verdict, this.correct);
    this.ofBot = field("A house bot", this.bot, this.addBot);
    this.node = element("section", { class: "part", "aria-labelledby": "directing", hidden: true }, element("h2", { id: "directing" }, "You direct it"),
      element("p", { class: "actions" }, this.start, this.extend, this.pair, this.pause, this.end, this.boards), this.boardsLine, this.ofBot, this.ofTable,
      this.ofPlayer = field("A player", this.entrant, this.remove, this.bye, this.halfBye),
      this.ofName = field("The name of that player", this.newName, this.rename), field("Reason, for the log", this.reason));
    this.table.addEventListener("change", () => this.#showVerdicts());
    this.entrant.addEventListener("change", () => this.#showRemove());
  }

  /** The key by which a screen is shown whole boards. It stands where a browser sends it to nobody. @param {string} key */
  takeKey(key) {
    this.boardsLine.hidden = false;
    this.boardsLink.setAttribute("href", `/tournament/${encodeURIComponent(this.#told.id)}/screen#key=${encodeURIComponent(key)}`);
  }

  /** The connection is lost. @param {Ruling[]} rulings whose answers are lost with it */
  lost(rulings) {
    this.#toldBefore = this.#told;
    this.#lost.push(...rulings.map((ruling) => ({ ruling, before: this.#ruledOn.get(raceOf(ruling)) ?? null })));
  }

  /** @param {any} told a `Tournament` @param {string} me @param {any[]} bots of the server's welcome */
  show(told, me, bots) {
    this.#told = told;
    this.node.hidden = told.director !== me || me === "";
    if (this.node.hidden) return;
    for (const [name, words] of Object.entries(decisionsOf(told))) {
      this[name].hidden = !words;
      setText(this[name], words);
    }
    // A director who plays too is given no key.
    this.boards.hidden = !told.tables.some((table) => table.code !== null) || told.entrants.some((entrant) => entrant.id === me);
    this.ofBot.hidden = isDone(told) || isFieldClosed(told) || !bots.length;
    const tables = told.tables.filter((table) => table.counted && (table.result !== null || !isDone(told)));
    this.ofTable.hidden = !tables.length;
    this.ofPlayer.hidden = !told.entrants.length;
    this.ofName.hidden = !told.entrants.some((entrant) => entrant.bot === null);
    offer(this.bot, bots.map((bot) => [bot.name, clean(bot.name)]));
    offer(this.table, tables.map((table) => [String(table.table), `Round ${told.round}, table ${table.table}: ${sideNames(told, table).join(" against ")}`]));
    offer(this.entrant, told.entrants.map((entrant) => [entrant.id, `${clean(entrant.name)}${entrant.withdrawn ? ` (${outWord(entrant)})` : ""}`]));
    this.#showVerdicts();
    this.#showRemove();
    this.#askAgain();
  }

  /** Where rulings got no answer before the connection was lost, and were not carried out: ask whether to send them again, once their tournament has been
   * told anew and nothing else is being asked. */
  #askAgain = () => {
    const told = this.#told;
    if (!this.#lost.length || told === this.#toldBefore || this.node.hidden) return;
    const dialog = document.querySelector("dialog");
    if (dialog) {
      dialog.addEventListener("close", this.#askAgain);
      return;
    }
    // Of another round's tables nothing is known.
    const seen = this.#lost.filter(({ ruling }) => ruling.type !== "correct-result" || ruling.round === told.round);
    this.#lost = this.#lost.filter((each) => !seen.includes(each));
    const unsettled = seen.filter(({ ruling, before }) => !isSettled(told, ruling, before)).map(({ ruling }) => ruling);
    const isLate = (ruling) => ruling.type === "give-bye" && ruling.round <= told.rounds.length;
    const late = unsettled.filter(isLate), undone = unsettled.filter((ruling) => !isLate(ruling));
    const wordsOf = (rulings) => rulings.map((ruling) => rulingWords(told, ruling)).join("; ");
    const tooLate = late.length ? `Not done, and too late now that the round is paired: ${wordsOf(late)}.` : "";
    if (!undone.length) {
      if (tooLate) tell(tooLate, []);
      return;
    }
    const [it, thisWas] = undone.length === 1 ? ["it", "this was"] : ["them", "these were"];
    ask(`${tooLate} The connection was lost before ${thisWas} decided: ${wordsOf(undone)}.`.trim(),
      [`Decide ${it} now`, "Leave it as it is"], () => undone.forEach((ruling) => this.send(ruling)));
  };

  #withTable(act) {
    const table = this.#told.tables.find((each) => String(each.table) === this.table.value);
    if (table) act(table);
  }

  #showVerdicts() {
    this.#withTable((table) => {
      offer(this.verdict, VERDICTS.map(([words], at) => [String(at), named(words, this.#told, table)]));
    });
  }

  #showRemove() {
    const entrant = this.#told.entrants.find((each) => each.id === this.entrant.value);
    setText(this.remove, entrant?.withdrawn ? "Let back in" : "Remove");
    const { format, rounds } = this.#told.options, round = this.#told.rounds.length + 1;
    const has = entrant && byeOf(this.#told, entrant.id, round);
    this.bye.hidden = isDone(this.#told) || format !== "swiss" || !entrant || entrant.withdrawn || (rounds > 0 && round > rounds);
    this.halfBye.hidden = this.bye.hidden || Boolean(has);
    setText(this.bye, has ? "Take away the bye" : "Full-point bye");
    // Names are corrected afterwards too.
    this.remove.hidden = isDone(this.#told);
    this.rename.disabled = !entrant || entrant.bot !== null;
  }
}

/** The options of a select; what is chosen stays chosen where it is still one of them. @param {HTMLSelectElement} select @param {string[][]} options */
function offer(select, options) {
  const chosen = select.value;
  fill(select, options, () => options.map(([value, words]) => element("option", { value }, words)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}
