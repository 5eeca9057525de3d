// What a big screen shows of a tournament while nobody races, and how to join where there is nothing else to be shown.

import { bar } from "./bars.js";
import { bracketNodes, bracketOf, roundsOf } from "./bracket.js";
import { arrange, clockText, counted, element, nameOf, setText } from "./dom.js";
import { isOwnMachine, originToTell, serverAddress } from "./connection.js";
import { STATE_WORDS } from "./model.js";
import { namesOf, quarters, winnerText } from "./tournaments.js";

const ROWS = 10;
/** Deals of a session, the last ones; and players of it at once. */
const DEALS = 6;
const FIELD = 24;
const BRACKET_ROUNDS = 4;
const ENTRANTS = 60;

/** Everybody who plays the same deal alone, whoever has most home first. */
export class Field {
  #bars = new Map();

  constructor() {
    this.list = element("ol", {});
    this.more = element("p", { class: "note", hidden: true });
    this.node = element("section", { class: "screen-field", "aria-label": "Everybody on this deal" }, this.list, this.more);
  }

  /** @param {any} told @param {number} cards @param {number} since milliseconds since it was told */
  show(told, cards, since) {
    const names = namesOf(told);
    const rows = told.tables.filter((table) => table.second === null).map((table) => {
      const side = table.sides.find((each) => each.entrant === table.first);
      const home = table.result ? table.result.first_home : side?.home ?? 0;
      const word = table.result ? (table.result.forfeit ? "forfeited" : "done") : STATE_WORDS[side?.state] || (side?.present === false ? missing(table, since) : "");
      return { id: table.first, name: names.get(table.first) ?? table.first, home, word };
    });
    rows.sort((one, other) => other.home - one.home || one.name.localeCompare(other.name));
    const shown = rows.slice(0, FIELD);
    for (const { id, name, home, word } of shown) {
      if (!this.#bars.has(id)) {
        const made = bar(this.#bars.size);
        this.#bars.set(id, { made, node: element("li", {}, made.node) });
      }
      this.#bars.get(id).made.show({ name, bot: null, home, cards, word });
    }
    this.node.classList.toggle("crowded", shown.length > 8);
    arrange(this.list, shown.map(({ id }) => this.#bars.get(id).node));
    this.more.hidden = rows.length <= FIELD;
    setText(this.more, `and ${counted(rows.length - FIELD, "more player")}`);
  }
}

/** Of a session: what each brought home of each deal. @param {any} told @param {any} document @param {(row: any) => any} nameNodes */
function sessionNodes(told, document, nameNodes) {
  const rounds = roundsOf(document, told).slice(-DEALS);
  const home = (round, entrant) => {
    const result = round.tables.find((table) => table.first === entrant)?.result;
    return result ? (result.forfeit ? "–" : String(result.first_home)) : "";
  };
  const rows = told.standings.slice(0, ROWS).map((row) => element("tr", {}, element("td", {}, String(row.place)),
    element("th", { scope: "row" }, nameNodes(row)), element("td", {}, quarters(2 * row.half_points)),
    rounds.map((round) => element("td", {}, home(round, row.entrant))), element("td", {}, String(row.home))));
  return [["Place", "Player", "Won", ...rounds.map((round) => `Deal ${round.number}`), "Cards home"], rows];
}

/** @param {any} told @param {any} [document] */
export function standingsNodes(told, document = null) {
  const names = namesOf(told), bots = new Set(told.entrants.filter(({ bot }) => bot).map(({ id }) => id));
  const nameNodes = ({ entrant }) => [nameOf(names.get(entrant) ?? entrant), bots.has(entrant) ? " (bot)" : ""];
  const more = told.standings.length - ROWS;
  const [titles, rows] = told.options.format === "session" ? sessionNodes(told, document, nameNodes) : [["Place", "Player", "Points", "Won", "Drawn", "Lost", "Cards home"], told.standings.slice(0, ROWS).map((row) => element("tr", {}, element("td", {}, String(row.place)),
    element("th", { scope: "row" }, nameNodes(row)),
    [quarters(2 * row.half_points), row.won, row.drawn, row.lost, row.home].map((text) => element("td", {}, String(text)))))];
  return [
    element("table", { class: "standings" }, element("caption", { class: "unseen" }, "Standings, best first"),
      element("thead", {}, element("tr", {}, titles.map((title) => element("th", { scope: "col" }, title)))), element("tbody", {}, rows)),
    ...(more > 0 ? [element("p", { class: "note" }, `and ${counted(more, "more player")}`)] : []),
  ];
}

/** @param {any} told @param {any} document its `TournamentDocument`, if it is known */
export function treeNodes(told, document) {
  return bracketNodes(bracketOf(roundsOf(document, told), told.options.double), namesOf(told), { last: BRACKET_ROUNDS, canLink: false }).filter(Boolean);
}

function scoreOf(result) {
  return result === null || result.forfeit ? " – " : element("b", {}, ` ${result.first_home} : ${result.second_home} `);
}

/** Who has won a table, where its score does not say it. @param {any} table @param {Map<string, string>} names */
export function winnerNode({ result, first, second }, names) {
  const text = result && winnerText(result, names.get(first) ?? "", second === null ? "the house" : names.get(second) ?? "");
  return text ? element("span", { class: "note" }, ` ${text}`) : null;
}

/** Of a side that is not at its table: how long it is waited for. @param {any} table @param {number} since milliseconds since it was told */
export function missing({ no_show_ms: left }, since) {
  return `not there yet${left === null ? "" : `, ${clockText(left - since)} left`}`;
}

/** The tables but one, in a line each: a name, the score, the other name, and who has won where that does not say it. @param {any} told @param {(table: any) => boolean} isShown which one */
export function otherTables(told, isShown) {
  const names = namesOf(told);
  const score = ({ result, sides: [one, other] }) => (result === null ? `${one.home} : ${other?.home ?? 0}` : result.forfeit ? "–" : `${result.first_home} : ${result.second_home}`);
  return told.tables.filter((table) => !isShown(table) && table.counted && (table.sides.length > 1 || table.result))
    .map((table) => [names.get(table.first), score(table), table.second === null ? "the house" : names.get(table.second), winnerNode(table, names)?.textContent]);
}

/** Who meets whom. @param {any} told @param {number} since milliseconds since it was told */
export function pairingNodes(told, since) {
  const names = namesOf(told);
  const side = (table, entrant, at) => [nameOf(entrant === null ? "the house" : names.get(entrant) ?? entrant),
    table.result === null && table.sides[at] && !table.sides[at].present ? element("span", { class: "note" }, ` ${missing(table, since)}`) : null];
  return [element("ol", {}, told.tables.filter((table) => table.counted).slice(0, 2 * ROWS).map((table) =>
    element("li", { value: String(table.table) }, side(table, table.first, 0), scoreOf(table.result), side(table, table.second, 1), winnerNode(table, names))))];
}

/** Where to go, as an address, a QR code and a command; and who has entered. @param {any} told null where it is no tournament's screen @param {string | null} id */
export function joinNodes(told, id) {
  const origin = originToTell(location.search, location.origin);
  const path = id ? `/tournament/${id}` : "/play";
  const server = origin === location.origin ? serverAddress() : origin.replace(/^http/, "ws");
  const entrants = (told?.entrants ?? []).filter((entrant) => !entrant.withdrawn).slice(0, ENTRANTS);
  const here = (entrant) => (told.phase === "check-in" && entrant.checked_in ? element("span", { class: "note" }, " checked in") : null);
  return [
    isOwnMachine(origin)
      ? element("p", { class: "notice" }, "Only this machine can use this address. Open the screen at the address that others use, or add it to this one: ?at=ADDRESS")
      : element("img", { class: "qr", src: `/qr.svg?of=${encodeURIComponent(origin + path)}`, alt: `QR code of ${origin}${path}` }),
    element("div", {}, element("p", { class: "join-line" }, id ? "Play in it:" : "Race somebody here:"),
      element("p", { class: "join-address" }, origin, element("wbr", {}), path),
      element("p", { class: "note" }, "Or in a terminal: ", element("code", {}, id ? `carpet tournament join ${server} ${id}` : `carpet home ${server}`)),
      entrants.length ? element("ul", { class: "entrants" }, entrants.map((entrant) => element("li", {}, nameOf(entrant.name), here(entrant)))) : null),
  ];
}
