// What a big screen shows of a tournament while nobody races, and how to join where there is nothing else to be shown.

import { bracketNodes, bracketOf, roundsOf } from "./bracket.js";
import { counted, element, nameOf } from "./dom.js";
import { isOwnMachine, originToTell, serverAddress } from "./line.js";
import { quarters } from "./tournaments.js";

const ROWS = 10;
const BRACKET_ROUNDS = 4;
const ENTRANTS = 60;

/** Names by the ids of entrants. @param {any} told a `Tournament` @returns {Map<string, string>} */
export function namesOf(told) {
  return new Map(told.entrants.map((entrant) => [entrant.id, entrant.name]));
}

/** @param {any} told */
export function standingsNodes(told) {
  const names = namesOf(told);
  const more = told.standings.length - ROWS;
  const titles = ["Place", "Player", "Points", "Won", "Drawn", "Lost", "Cards home"];
  const rows = told.standings.slice(0, ROWS).map((row) => element("tr", {}, element("td", {}, String(row.place)),
    element("th", { scope: "row" }, nameOf(names.get(row.entrant) ?? row.entrant)),
    [quarters(2 * row.half_points), row.won, row.drawn, row.lost, row.home].map((text) => element("td", {}, String(text)))));
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

/** Who meets whom. @param {any} told */
export function pairingNodes(told) {
  const names = namesOf(told);
  const side = (table, entrant, at) => [nameOf(entrant === null ? "the house" : names.get(entrant) ?? entrant),
    table.result === null && table.sides[at] && !table.sides[at].present ? element("span", { class: "note" }, " not there yet") : null];
  return [element("ol", {}, told.tables.filter((table) => table.counted).slice(0, 2 * ROWS).map((table) =>
    element("li", { value: String(table.table) }, side(table, table.first, 0), scoreOf(table.result), side(table, table.second, 1))))];
}

/** Where to go, as an address, a QR code and a command; and who has entered. @param {any} told null where it is no tournament's screen @param {string | null} id */
export function joinNodes(told, id) {
  const origin = originToTell(location.search, location.origin);
  const path = id ? `/tournament/${id}` : "/play";
  const server = origin === location.origin ? serverAddress() : origin.replace(/^http/, "ws");
  const entrants = (told?.entrants ?? []).filter((entrant) => !entrant.withdrawn).slice(0, ENTRANTS);
  const here = (entrant) => (told.phase === "check-in" && entrant.checked_in ? element("span", { class: "note" }, " here") : null);
  return [
    isOwnMachine(origin)
      ? element("p", { class: "notice" }, "This address is of this machine alone. Open the screen at the one by which others come, or name that one behind this: ?at=ADDRESS")
      : element("img", { class: "qr", src: `/qr.svg?of=${encodeURIComponent(origin + path)}`, alt: `QR code of ${origin}${path}` }),
    element("div", {}, element("p", { class: "join-line" }, id ? "Play in it:" : "Race somebody here:"),
      element("p", { class: "join-address" }, origin, element("wbr", {}), path),
      element("p", { class: "note" }, "Or in a terminal: ", element("code", {}, id ? `carpet tournament join ${server} ${id}` : `carpet home ${server}`)),
      entrants.length ? element("ul", { class: "entrants" }, entrants.map((entrant) => element("li", {}, nameOf(entrant.name), here(entrant)))) : null),
  ];
}
