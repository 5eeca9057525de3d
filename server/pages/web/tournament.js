// The page at `/tournament/ID`: how it stands, the tables of a round as they are raced at, the standings with their tie-breaks, the bracket or who met
// whom, a player's way, the log.

import { bar } from "./bars.js";
import { bracketNodes, bracketOf, roundsOf } from "./bracket.js";
import { Crosstable, pathNodes } from "./crosstable.js";
import { Directing } from "./directing.js";
import { announce, arrange, button, capitalised, clean, clockText, counted, element, inHash, nameOf, section, setText, showEach, wide } from "./dom.js";
import { TakingPart, outWord } from "./entering.js";
import { serverAddress } from "./connection.js";
import { STATE_WORDS, byId, cardsOf, holds } from "./model.js";
import { read } from "./tables.js";
import { Followed, formatWord, isByTime, namesOf, quarters } from "./tournaments.js";

const TIE_BREAKS = {
  buchholz: ["Buchholz", "points of opponents met"],
  "sonneborn-berger": ["Sonneborn-Berger", "points of opponents beaten, and half of those drawn with"],
  "direct-encounter": ["Among equals", "place among those who are still equal, by their races against each other"],
  "cards-home": ["Cards home", ""],
};
export const VERDICTS = { first: "1 : 0", second: "0 : 1", draw: "½ : ½", neither: "0 : 0" };
const REFUSED = "tournament/no-such-id";
const LATER_MS = 2000;

export class TournamentPage {
  #followed = new Followed();
  #round = null;
  #rules = new Map();
  #tables = new Map();
  #rows = new Map();
  #stage = "";
  #document = null;
  #documentOf = "";
  #drawnWhole = "";
  #bots = [];
  /** The entries of the log that are known, by number. @type {Map<number, any>} */
  #entries = new Map();
  #drawnLog = "";

  constructor(connection, id) {
    this.connection = connection;
    this.id = id.toUpperCase();
    document.title = "Tournament";
    this.heading = element("h1", {}, "Tournament");
    this.facts = element("p", { class: "facts" });
    this.stands = element("p", { class: "summary" }, "Looking …");
    this.command = element("code", {}, `carpet tournament join ${serverAddress()} ${clean(this.id)}`);
    this.play = element("p", { class: "command", hidden: true }, "Or in a terminal: ", this.command);
    this.part = new TakingPart(connection, this.id);
    this.directing = new Directing((message) => this.part.send(message));
    this.picker = element("select", { id: "round" });
    this.picker.addEventListener("change", () => this.#pick());
    this.pick = element("p", { hidden: true }, element("label", { for: "round" }, "Round "), this.picker);
    this.tableList = element("ol", { class: "tables", "aria-labelledby": "tables" });
    this.byes = element("p", { class: "facts", hidden: true });
    this.noTables = element("p", { class: "none" }, "No round is paired yet.");
    this.head = element("tr", {});
    this.body = element("tbody", {});
    this.standings = wide("Table of the standings",
      element("table", { class: "standings", "aria-labelledby": "standings" }, element("thead", {}, this.head), this.body));
    this.log = element("ol", { class: "log", reversed: true });
    this.earlier = button("", () => this.#readEarlier());
    this.earlierLine = element("p", { hidden: true }, this.earlier);
    this.tree = wide("The bracket as a tree");
    this.treePart = section("bracket", "Bracket", this.tree);
    this.treePart.hidden = true;
    this.crosstable = new Crosstable(() => {
      this.#drawnWhole = "";
      this.#readDocument();
      this.#showWhole();
    });
    this.path = element("ol", { class: "path" });
    this.pathTitle = element("h2", { id: "path" });
    this.pathPart = element("section", { "aria-labelledby": "path", hidden: true, tabindex: "-1" }, this.pathTitle, this.path);
    this.parts = element("div", { hidden: true },
      element("div", { class: "columns" },
        element("section", { "aria-labelledby": "standings" }, this.standingsTitle = element("h2", { id: "standings" }, "Standings"), this.standings),
        section("tables", "Tables", this.pick, this.noTables, this.tableList, this.byes)),
      this.pathPart, this.treePart, this.crosstable.node,
      element("section", {}, element("details", {}, element("summary", {}, "What was decided"), this.log, this.earlierLine)),
      element("p", { class: "facts" }, "For a big screen: ", element("a", { href: `/tournament/${encodeURIComponent(this.id)}/screen` }, "the tournament’s screen"), ". All of it ", element("a", { href: this.#path("json") }, "as JSON"), ", the standings ",
        element("a", { href: this.#path("csv") }, "as CSV"), "."));
    this.node = element("div", { class: "tournament" },
      element("div", { class: "title" }, this.heading), this.facts, this.stands, this.part.node, this.play, this.directing.node, this.parts);
    setInterval(() => this.#tick(), 1000);
    addEventListener("hashchange", () => {
      this.#readDocument();
      this.#showWhole();
      if (!this.pathPart.hidden) this.pathPart.focus();
    });
  }

  /** The player whose way is shown: of an address that ends in `#path=ID`. */
  get #chosen() {
    return inHash("path");
  }

  #path(kind) {
    return `/tournaments/${encodeURIComponent(this.id)}.${kind}`;
  }

  hello() {
    return this.part.hello();
  }

  lost() {
    this.directing.lost(this.part.lost());
  }

  taken() {
    this.part.taken();
  }

  /** @param {import("carpet-wire").Welcome} welcome */
  up(welcome) {
    this.part.up(welcome);
    this.#bots = welcome.bots;
    this.#rules = byId(welcome.rules);
    this.#ask();
  }

  #ask() {
    this.connection.send({ type: "follow-tournament", id: this.id.slice(0, 16), round: this.#round });
  }

  #pick() {
    const last = this.#told?.rounds.at(-1)?.number;
    const chosen = Number(this.picker.value);
    // The last one is whichever is the last.
    this.#round = chosen === last ? null : chosen;
    this.#ask();
  }

  /** @param {import("carpet-wire").ServerMessage} message */
  hear(message) {
    this.part.hear(message);
    if (message.type === "boards-key") this.directing.takeKey(message.key);
    if (message.type === "error" && message.code === REFUSED && message.ref === 0) {
      setText(this.stands, "There is no tournament with that id.");
      return;
    }
    if (holds(message)) {
      this.#followed.hold(message.message, performance.now());
      this.#tick();
    }
    if (message.type !== "tournament") return;
    this.#followed.take(message, performance.now());
    document.title = clean(message.options.name);
    this.heading.replaceChildren(nameOf(message.options.name));
    const rules = this.#rules.get(message.options.rules);
    setText(this.facts, `${capitalised(formatWord(message.options))} · ${clean(rules?.name ?? message.options.rules)} · director ${clean(message.director_name)}`);
    this.play.hidden = !["registration", "check-in"].includes(message.phase);
    this.parts.hidden = false;
    this.#showRounds(message);
    this.#showTables(message, cardsOf(rules));
    this.#showStandings(message);
    this.#showLog(message);
    this.#readDocument();
    this.#showWhole();
    this.#tick();
  }

  /** The rounds whose tables are not told: read where something shows them, and anew when one of them may have changed. */
  async #readDocument() {
    const told = this.#told;
    if (!told?.rounds.length || !(this.#chosen || this.crosstable.isOpen || ["elimination", "round-robin"].includes(told.options.format))) return;
    const corrected = told.log.findLast((entry) => entry.kind === "correct")?.number;
    const of = JSON.stringify([told.round, told.rounds.map((round) => round.open === 0), corrected]);
    if (of === this.#documentOf) return;
    this.#documentOf = of;
    // Not everybody who looks on at the same moment.
    if (this.#document) await new Promise((go) => { setTimeout(go, LATER_MS * Math.random()); });
    try {
      this.#document = await read(this.#path("json"));
      this.#showWhole();
    } catch {
      this.#documentOf = "";
    }
  }

  /** What is made of all rounds together. */
  #showWhole() {
    const told = this.#told;
    if (!told?.rounds.length) return;
    const chosen = told.entrants.some((entrant) => entrant.id === this.#chosen) ? this.#chosen : null;
    const rounds = roundsOf(this.#document, told);
    const key = JSON.stringify([chosen, told.entrants.map((entrant) => entrant.name), told.standings, rounds.map((round) => [round.isOver, round.tables.map((table) => [table.first, table.second, table.result, table.race_ids])])]);
    if (key === this.#drawnWhole) return;
    this.#drawnWhole = key;
    const names = namesOf(told);
    const groups = bracketOf(rounds, told.options.double);
    this.treePart.hidden = groups.length === 0;
    this.tree.replaceChildren(...bracketNodes(groups, names, { chosen }).filter(Boolean));
    this.crosstable.show(told, rounds, names, chosen ?? this.part.me);
    this.pathPart.hidden = chosen === null;
    if (chosen === null) return;
    const { name, bot, entered_as } = told.entrants.find((entrant) => entrant.id === chosen);
    // A name that the director has corrected may be nobody's on the server, or somebody else's.
    this.pathTitle.replaceChildren("The path of ", bot || entered_as ? nameOf(name) : element("a", { href: `/player/${encodeURIComponent(name)}` }, nameOf(name)));
    this.path.replaceChildren(...pathNodes(rounds, chosen, names));
  }

  get #told() {
    return this.#followed.told;
  }

  #tick() {
    if (this.#told === null) return;
    const now = performance.now();
    const sentence = this.#followed.sentence(now);
    setText(this.stands, sentence);
    // Read out when something has happened, and not every second.
    const { phase, rounds, entrants } = this.#told;
    const stage = JSON.stringify([phase, rounds.length, rounds.at(-1)?.open, entrants.filter((each) => each.checked_in).length, this.#followed.held]);
    if (this.#stage && stage !== this.#stage) announce(sentence, { isCount: phase === "running" || phase === "check-in" });
    this.#stage = stage;
    const since = this.#followed.since(now);
    this.part.show(this.#told, since);
    this.directing.show(this.#told, this.part.me, this.#bots);
    for (const table of this.#tables.values()) table.tick(since);
  }

  #showRounds(told) {
    this.pick.hidden = told.rounds.length < 2;
    const numbers = told.rounds.map((round) => String(round.number));
    if ([...this.picker.options].map((option) => option.value).join() !== numbers.join()) {
      this.picker.replaceChildren(...numbers.map((number) => element("option", { value: number }, number)));
    }
    if (document.activeElement !== this.picker || this.picker.value === "") this.picker.value = String(told.round);
  }

  #showTables(told, cards) {
    this.noTables.hidden = told.rounds.length > 0;
    const entrants = byId(told.entrants);
    const isOver = told.rounds.find((round) => round.number === told.round)?.open === 0;
    setText(this.byes, byesText(told, told.round));
    this.byes.hidden = !this.byes.textContent;
    showEach(this.#tables, this.tableList, told.tables, (table) => `${told.round}/${table.table}`, () => new Table(), (shown, table) => shown.show(table, entrants, cards, isOver, this.part.me, told.options.format === "session"));
  }

  #showStandings(told) {
    const columns = told.tie_breaks.map((kind) => [...TIE_BREAKS[kind] ?? [clean(kind), ""], tieBreakClass(kind)]);
    // Nobody has a place or points before the first round.
    const isPaired = told.rounds.length > 0;
    const heads = isPaired ? [["Place", ""], ["Player", ""], ["Points", ""], ...columns, ["Won, drawn, lost", ""]] : [["Player", ""]];
    setText(this.standingsTitle, isPaired ? "Standings" : "Players");
    if (this.head.childElementCount !== heads.length) {
      this.head.replaceChildren(...heads.map(([name, title, kind]) => element("th", { scope: "col", title: title || null, class: kind }, name)));
    }
    const entrants = byId(told.entrants);
    // In the check-in, those who are missing come before the others.
    const here = told.phase === "check-in" ? [...told.entrants].sort((one, other) => Number(one.checked_in) - Number(other.checked_in)) : told.entrants;
    const seen = isPaired ? told.standings : here.map((entrant) => ({ entrant: entrant.id }));
    showEach(this.#rows, this.body, seen, (row) => row.entrant, () => new Row(), (shown, row) => shown.show(row, entrants.get(row.entrant), told, this.part.me));
  }

  /** As far back as is known: the server tells the last entries, and the document has all of them. */
  #showLog(told) {
    for (const entry of told.log) this.#entries.set(entry.number, entry);
    const lines = [];
    for (let number = told.decisions; this.#entries.has(number); number -= 1) lines.push(this.#entries.get(number));
    const key = JSON.stringify(lines);
    if (key === this.#drawnLog) return;
    this.#drawnLog = key;
    this.log.setAttribute("start", String(told.decisions));
    this.log.replaceChildren(...lines.map((entry) => element("li", { "data-number": String(entry.number) },
      element("time", { class: "facts", datetime: new Date(entry.at_ms).toISOString() }, timeOf(entry.at_ms, told.made_at_ms)), ` ${clean(entry.text)}${entry.author ? ` (${clean(entry.author)})` : ""}${entry.reason ? ` Reason: ${clean(entry.reason)}` : ""}`)));
    const earlier = told.decisions - lines.length;
    this.earlierLine.hidden = earlier <= 0;
    setText(this.earlier, `Show what was decided before: ${counted(earlier, "entry", "entries")}`);
  }

  async #readEarlier() {
    try {
      const { log } = await read(this.#path("json"));
      for (const entry of log) this.#entries.set(entry.number, entry);
      this.#showLog(this.#told);
    } catch {
      setText(this.earlier, "It could not be read. Try again in a moment.");
    }
  }
}

/** The time of day, with the date if that is not the day on which the tournament was made. @param {number} at @param {number} since */
function timeOf(at, since) {
  const [then, made] = [new Date(at), new Date(since)];
  const time = then.toLocaleTimeString([], { timeStyle: "short" });
  return then.toDateString() === made.toDateString() ? time : `${then.toLocaleDateString()} ${time}`;
}

/** Who has a bye in a round on request, with what they score, as the terminal says it. @param {any} told a `Tournament` @param {number} number */
export function byesText(told, number) {
  const names = namesOf(told);
  const byes = (told.byes ?? []).filter((bye) => bye.round === number).map((bye) => `${clean(names.get(bye.entrant) ?? bye.entrant)} ${quarters(2 * bye.half_points)}`);
  return byes.length ? `Byes on request: ${byes.join(", ")}.` : "";
}

/** Where there is little room only the cards home are shown of them. */
function tieBreakClass(kind) {
  return kind === "cards-home" ? null : "tie-break";
}

/** "Ada 1 : 0 Zoë (31 : 30 cards)", and what has decided it if not the cards; "Ada: 31 cards home" of who plays alone.
 * @param {any} result a `TableResult` @param {Element[]} names of the sides */
export function resultNodes(result, [first, second]) {
  const { verdict, first_home: one, second_home: other, forfeit, ruled, walkover } = result;
  if (!second) return [first, forfeit ? ": forfeited" : `: ${counted(one, "card")} home`, ruled ? ", by ruling" : ""];
  const decided = ruled ? [", by ruling"] : walkover ? [", walkover"] : isByTime(result) ? [", ", (verdict === "first" ? first : second).cloneNode(true), " had them first"] : [];
  return [first, ` ${VERDICTS[verdict] ?? ""} `, second, forfeit ? ", by forfeit" : ` (${one} : ${other} cards)`, ...decided];
}

/** How a side of a table stands, in a word or two. @param {any} side a `TournamentSide` */
export function sideWord({ state, present, ready }) {
  if (state !== "waiting") return STATE_WORDS[state] || (present ? "" : "away");
  return present ? { true: "ready", false: "not ready yet" }[ready] ?? "" : "not there yet";
}

class Table {
  #shown = "";
  #elapsed = null;

  constructor() {
    this.number = element("span", { class: "number" });
    this.link = element("a", {});
    this.word = element("span", { class: "facts" });
    this.bars = [bar(0), bar(1)];
    this.bodies = element("div", { class: "bars" });
    this.score = element("p", { class: "score" });
    this.node = element("li", {}, element("article", {},
      element("p", { class: "bar-head" }, this.number, this.word), this.score, this.bodies, element("p", { class: "watch" }, this.link)));
  }

  /** isOver: the round is, so that records can be had. me: who looks on. isAlone: nobody has the other side, not even the house. */
  show(table, entrants, cards, isOver, me, isAlone) {
    const key = JSON.stringify([table, isOver, me]);
    this.#elapsed = table.result === null && table.sides.some((side) => side.state === "racing") ? table.elapsed_ms : null;
    if (key === this.#shown) return;
    this.#shown = key;
    const names = (isAlone ? [table.first] : [table.first, table.second]).map((side) => {
      const entrant = entrants.get(side);
      return element("span", {}, nameOf(side === null ? "the house" : entrant?.name ?? side), entrant?.bot ? " (bot)" : side === me ? " (you)" : "");
    });
    setText(this.number, `Table ${table.table}${table.match ? ` · ${clean(table.match)}` : ""}`);
    this.score.hidden = table.result === null && table.counted;
    if (!table.counted) this.score.replaceChildren(names[0], " has the bye.");
    else if (table.result !== null) this.score.replaceChildren(...resultNodes(table.result, names));
    const between = names.map((name) => name.textContent).join(" against ");
    const isRaced = table.result === null && table.sides.length > 0;
    this.bodies.hidden = !isRaced;
    if (isRaced) {
      table.sides.forEach((side, at) => this.bars[at]?.show({
        name: side.name, bot: side.entrant === null || (entrants.get(side.entrant)?.bot ?? null), isOwn: side.entrant === me, home: side.home, cards,
        word: sideWord(side),
      }));
      arrange(this.bodies, this.bars.slice(0, table.sides.length).map((each) => each.node));
    } else if (table.result === null && table.counted) {
      this.score.hidden = false;
      this.score.replaceChildren(...(isAlone ? names : [names[0], " against ", names[1]]));
    }
    const canWatch = isRaced && table.code !== null;
    const race = isOver ? table.race_ids.at(-1) : undefined;
    this.link.parentElement.hidden = !canWatch && race === undefined;
    if (race !== undefined) {
      setText(this.link, "Replay this table");
      this.link.setAttribute("href", `/race/${encodeURIComponent(race)}`);
      this.link.setAttribute("aria-label", `Replay this table: ${table.table}, ${between}`);
    } else if (canWatch) {
      setText(this.link, "Watch this table");
      this.link.setAttribute("href", `/watch/${encodeURIComponent(table.code)}`);
      this.link.setAttribute("aria-label", `Watch this table: ${table.table}, ${between}`);
    }
  }

  tick(since) {
    setText(this.word, this.#elapsed === null ? "" : clockText(this.#elapsed + since));
  }
}

class Row {
  #shown = "";

  constructor() {
    this.node = element("tr", {});
  }

  /** told: the `Tournament`. me: who looks on. */
  show(row, entrant, { phase, tie_breaks }, me) {
    const isOwn = row.entrant === me;
    const key = JSON.stringify([row, entrant, phase, isOwn]);
    if (key === this.#shown) return;
    this.#shown = key;
    const marks = `${entrant?.bot ? " (bot)" : isOwn ? " (you)" : ""}${entrant?.withdrawn ? ` (${outWord(entrant)})` : ""}${phase === "check-in" && !entrant?.withdrawn ? (entrant?.checked_in ? " ● checked in" : " ○ not checked in yet") : ""}${entrant?.here || entrant?.withdrawn || ["over", "ended"].includes(phase) ? "" : " (away)"}`;
    const name = element("th", { scope: "row" }, element("a", { href: `#path=${encodeURIComponent(row.entrant)}` }, nameOf(entrant?.name ?? row.entrant)), marks);
    if (row.place === undefined) return this.node.replaceChildren(name);
    this.node.replaceChildren(element("td", {}, String(row.place)), name, element("td", {}, quarters(2 * row.half_points)),
      ...row.tie_breaks.map((value, at) => element("td", { class: tieBreakClass(tie_breaks[at]) }, quarters(value))), element("td", {}, `${row.won} ${row.drawn} ${row.lost}`));
  }
}
