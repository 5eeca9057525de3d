// Everybody against everybody as a table, and one player's way through a tournament. Both from its rounds, as `bracket.js` puts them together.

import { clean, counted, element, field, fill, nameOf, setText } from "./dom.js";
import { quarters } from "./tournaments.js";

/** Of one crosstable at once: more would be read by nobody. */
const ROWS = 40;

/** Of a race at a table: what it was worth for one side, in words and as a score. */
const WORTH = { won: "1", drawn: "½", lost: "0" };
const HOW = { won: "Won", drawn: "Drew", lost: "Lost" };
/** What decides with equally many cards home. */
const REACHED = { won: ", reached sooner", lost: ", reached later" };

/** How it went for an entrant at a table that has a result. */
function outcome({ verdict }, isFirst) {
  if (verdict === "draw") return "drawn";
  return verdict === (isFirst ? "first" : "second") ? "won" : "lost";
}

/** An entrant's tables, round by round. @param {any[]} rounds of `roundsOf` @param {string} entrant */
export function pathOf(rounds, entrant) {
  const asked = (round) => (round.byes ?? []).filter((bye) => bye.entrant === entrant).map((bye) => (
    { round: round.number, table: null, match: "", isBye: true, score: quarters(2 * bye.half_points), isForfeit: false, other: null, how: null, homes: null, races: [] }));
  return rounds.flatMap((round) => asked(round).concat(round.tables.filter((table) => [table.first, table.second].includes(entrant)).map((table) => {
    const isFirst = table.first === entrant;
    const { result } = table;
    return {
      round: round.number, table: table.table, match: table.match, isBye: !table.counted, isForfeit: Boolean(result?.forfeit),
      other: isFirst ? table.second : table.first, how: result && table.counted ? outcome(result, isFirst) : null,
      homes: result && !result.forfeit ? (isFirst ? [result.first_home, result.second_home] : [result.second_home, result.first_home]) : null,
      races: round.isOver ? table.race_ids : [],
    };
  })));
}

/** Who met whom, as a grid: of each row's entrant the results against each column's, and against the house. struck: whose tables count for nobody.
 * @param {any[]} rounds @param {string[]} order @param {Set<string>} struck */
export function gridOf(rounds, order, struck) {
  const met = new Map(order.map((entrant) => [entrant, new Map()]));
  for (const round of rounds) {
    for (const table of round.tables) {
      if (!table.counted) continue;
      const isStruck = [table.first, table.second].some((side) => struck.has(side));
      for (const [own, other] of [[table.first, table.second], [table.second, table.first]]) {
        const cells = met.get(own);
        if (!cells) continue;
        const score = table.result ? WORTH[outcome(table.result, own === table.first)] : "·";
        cells.set(other, [...(cells.get(other) ?? []), { score: isStruck ? `(${score})` : score, race: round.isOver ? table.race_ids.at(-1) ?? null : null, round: round.number }]);
      }
    }
  }
  return order.map((own) => [...order, null].map((other) => (own === other ? null : met.get(own).get(other) ?? [])));
}

/** Who left a round robin so early that their tables count for nobody: whose counted tables are none. @param {any} told a `Tournament` @returns {Set<string>} */
function struckOf({ standings }) {
  return new Set(standings.filter((row) => row.withdrawn && row.won + row.drawn + row.lost === 0).map((row) => row.entrant));
}

/** The grid as the rows of a table. from: of the rows, as many as are shown at once. @param {any} told @param {any[]} rounds @param {string[]} order @param {Map<string, string>} names @param {number} from */
function gridNodes(told, rounds, order, names, from) {
  const name = (entrant) => clean(names.get(entrant) ?? entrant ?? "the house");
  const grid = gridOf(rounds, order, struckOf(told));
  // A bye is worth what is won against the house.
  const width = order.length + Number(grid.some((cells) => cells.at(-1).length > 0));
  const head = element("tr", {}, element("td", {}), element("th", { scope: "col" }, "Player"),
    order.map((entrant, at) => element("th", { scope: "col", title: name(entrant), "aria-label": `${at + 1}: against ${name(entrant)}` }, String(at + 1))), width > order.length ? element("th", { scope: "col" }, "House") : null);
  const rows = grid.slice(from, from + ROWS).map((cells, row) => element("tr", {}, element("td", {}, String(from + row + 1)), element("th", { scope: "row" }, nameOf(names.get(order[from + row]) ?? order[from + row])),
    cells.slice(0, width).map((cell, column) => (cell === null ? element("td", { class: "self" }, "—") : element("td", {}, cell.map(({ score, race, round }) => (race === null ? `${score} `
      : element("a", { href: `/race/${encodeURIComponent(race)}`, "aria-label": `${score}, round ${round} against ${name(order[column])}` }, score))))))));
  return [element("thead", {}, head), element("tbody", {}, rows)];
}

/** Round by round, where not everybody meets everybody: how it went and against whom, by their place; in a session how many cards were brought home.
 * @param {any} told @param {any[]} rounds @param {string[]} order @param {Map<string, string>} names @param {number} from */
function roundNodes({ options }, rounds, order, names, from) {
  const name = (entrant) => clean(names.get(entrant) ?? entrant ?? "the house");
  const places = new Map(order.map((entrant, at) => [entrant, at + 1]));
  const head = element("tr", {}, element("td", {}), element("th", { scope: "col" }, "Player"),
    rounds.map(({ number }) => element("th", { scope: "col", "aria-label": `Round ${number}` }, String(number))));
  const cell = (step) => {
    if (!step) return element("td", {}, "");
    const isAlone = options.format === "session" && !step.isBye;
    const score = step.isBye ? ["bye", step.score].filter(Boolean).join(" ") : step.how === null ? "·" : isAlone ? String(step.homes?.[0] ?? 0) : `${WORTH[step.how]} : ${step.other === null ? "house" : places.get(step.other) ?? "?"}`;
    const words = step.isBye ? byeWords(step).toLowerCase() : isAlone ? `${score} cards home` : step.how === null ? `against ${name(step.other)}` : `${HOW[step.how].toLowerCase()} against ${name(step.other)}`;
    const race = step.races.at(-1);
    return element("td", { title: words }, race ? element("a", { href: `/race/${encodeURIComponent(race)}`, "aria-label": `${score}, round ${step.round}, ${words}` }, score) : score);
  };
  const rows = order.slice(from, from + ROWS).map((entrant, at) => {
    const steps = new Map(pathOf(rounds, entrant).map((step) => [step.round, step]));
    return element("tr", {}, element("td", {}, String(from + at + 1)), element("th", { scope: "row" }, nameOf(names.get(entrant) ?? entrant)), rounds.map(({ number }) => cell(steps.get(number))));
  });
  return [element("thead", {}, head), element("tbody", {}, rows)];
}

/** Who met whom, so many rows at once: those around whoever looks, and all others by turning on. */
export class Crosstable {
  #from = null;
  #told = null;

  /** wanted(): somebody has opened it. @param {() => void} wanted */
  constructor(wanted) {
    this.table = element("table", { class: "standings crosstable" });
    this.picker = element("select", { id: "places" });
    this.picker.addEventListener("change", () => { this.#from = Number(this.picker.value); this.#draw(); });
    this.pick = field("Places", this.picker);
    this.details = element("details", {}, element("summary", {}, this.title = element("h2", { id: "crosstable" })), this.pick,
      element("div", { class: "wide heads", tabindex: "0", role: "region", "aria-label": "Crosstable" }, this.table));
    this.details.addEventListener("toggle", () => this.details.open && wanted());
    this.node = element("section", { "aria-labelledby": "crosstable", hidden: true }, this.details);
  }

  /** Whether somebody looks at it. */
  get isOpen() {
    return !this.node.hidden && this.details.open;
  }

  /** me: whose rows are shown first, if they are in it. @param {any} told a `Tournament` @param {any[]} rounds of `roundsOf` @param {Map<string, string>} names @param {string | null} me */
  show(told, rounds, names, me) {
    const order = told.standings.map((row) => row.entrant);
    const isGrid = told.options.format === "round-robin";
    setText(this.title, isGrid ? "Who met whom" : told.options.format === "session" ? "Deal by deal" : "Round by round");
    // A bracket shows all of it.
    const wasHidden = this.node.hidden;
    this.node.hidden = told.options.format === "elimination" || !order.length;
    if (wasHidden && !this.node.hidden) this.details.open = isGrid;
    this.pick.hidden = order.length <= ROWS;
    const own = Math.max(order.indexOf(me), 0);
    const from = Math.min(this.#from ?? own - (own % ROWS), Math.floor((order.length - 1) / ROWS) * ROWS);
    fill(this.picker, order.length, () => Array.from({ length: Math.ceil(order.length / ROWS) }, (_, at) =>
      element("option", { value: String(at * ROWS) }, `${at * ROWS + 1} to ${Math.min((at + 1) * ROWS, order.length)}`)));
    this.picker.value = String(from);
    this.#told = { told, isGrid, rounds, order, names };
    this.#draw();
  }

  #draw() {
    const { told, isGrid, rounds, order, names } = this.#told;
    if (!this.isOpen) return;
    const caption = isGrid ? "Results of everybody against everybody, best first" : "Each round’s result and opponent, by place, best first";
    const nodes = (isGrid ? gridNodes : roundNodes)(told, rounds, order, names, Number(this.picker.value));
    this.table.replaceChildren(element("caption", {}, element("span", { class: "unseen" }, `${caption}. `), isGrid && struckOf(told).size ? "What stands in brackets does not count." : ""), ...nodes);
  }
}

function replayWord(races, at) {
  return races.length > 1 ? `Replay race ${at + 1}` : "Replay";
}

/** A bye that counts for nothing has no score; one that was asked for or given has. */
function byeWords({ score }) {
  return score ? `A bye on request, ${score}` : "A bye";
}

/** An entrant's way as the items of a list. @param {any[]} rounds @param {string} entrant @param {Map<string, string>} names */
export function pathNodes(rounds, entrant, names) {
  return pathOf(rounds, entrant).map((step) => {
    const other = step.other === null ? ["the house"] : [nameOf(names.get(step.other) ?? step.other)];
    const words = step.isBye ? [byeWords(step)] : step.how === null ? ["Against ", ...other, ": not over yet"] : [`${HOW[step.how]} against `, ...other];
    const facts = step.isForfeit ? ", by forfeit" : step.homes && !step.isBye ? `, ${step.homes[0]} : ${counted(step.homes[1], "card")} home${step.homes[0] > 0 && step.homes[0] === step.homes[1] ? REACHED[step.how] ?? "" : ""}` : "";
    const races = step.races.map((race, at) => element("span", {}, " · ", element("a", { href: `/race/${encodeURIComponent(race)}`,
      "aria-label": `${replayWord(step.races, at)} of round ${step.round}` }, replayWord(step.races, at))));
    return element("li", { value: String(step.round) }, ...words, facts, races);
  });
}
