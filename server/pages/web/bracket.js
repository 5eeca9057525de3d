// The bracket of a knock-out, as a tree: rounds from left to right, each match between the two that feed it.

import { clean, element, nameOf } from "./dom.js";

/** @typedef {{entrant: string | null, isNobody: boolean, home: number | null, hasWon: boolean}} Side isNobody: nobody comes here from the match that feeds it */
/** @typedef {{name: string, sides: Side[], isBye: boolean, isVoid: boolean, race: string | null}} Match isVoid: both have forfeited it, and nobody goes on */

/** All rounds of a tournament: those of its document, with the tables that are told live. @param {any} document @param {any} told */
export function roundsOf(document, told) {
  const known = new Map((document?.rounds ?? []).map((round) => [round.number, { ...round, isOver: round.secret !== null }]));
  const live = told.rounds.find((round) => round.number === told.round);
  if (live) known.set(told.round, { number: told.round, tables: told.tables, isOver: live.secret !== null });
  return [...known.values()].sort((one, other) => one.number - other.number);
}

/** Columns of a bracket with their titles, in groups: the winners, in a double knock-out the losers, and the end. @param {any[]} rounds @param {boolean} isDouble @returns {{title: string, columns: {title: string, matches: Match[]}[]}[]} */
export function bracketOf(rounds, isDouble) {
  const tables = new Map();
  for (const round of rounds) for (const table of round.tables) if (table.match) tables.set(table.match, { table, isOver: round.isOver });
  const first = [...tables.keys()].filter((name) => name.startsWith("W1-")).map((name) => Number(name.slice(3)));
  if (!first.length) return [];
  const size = 2 ** Math.ceil(Math.log2(Math.max(...first)));
  const made = new Map();
  const column = (letter, number, count, title) => ({
    title,
    matches: Array.from({ length: count }, (_, at) => {
      const name = count === 1 && "FR".includes(letter) ? letter : `${letter}${number}-${at + 1}`;
      made.set(name, matchOf(name, tables.get(name), feeders(name).map((from) => made.get(from))));
      return made.get(name);
    }),
  });
  const winners = [];
  for (let [number, count] = [1, size]; count >= 1; number += 1, count /= 2) {
    winners.push(column("W", number, count, isDouble ? `Round ${number}` : { 1: "Final", 2: "Semi-finals", 4: "Quarter-finals" }[count] ?? `Round ${number}`));
  }
  if (!isDouble) return [{ title: "Bracket", columns: winners }];
  const losers = [];
  for (let [number, count] = [1, size / 2]; count >= 1; number += 1, count /= number % 2 ? 2 : 1) losers.push(column("L", number, count, `Round ${number}`));
  const end = [column("F", 0, 1, "Final"), ...(tables.has("R") ? [column("R", 0, 1, "Decider")] : [])];
  return [{ title: "Winners", columns: winners }, ...(losers.length ? [{ title: "Losers", columns: losers }] : []), { title: "Final", columns: end }];
}

/** The matches whose winners meet, as far as that is a matter of their names. */
function feeders(name) {
  const [, letter, round, number] = /^([WLFR])(\d*)-?(\d*)$/.exec(name) ?? [];
  if (Number(round) < 2 || !number) return [];
  // Among the losers by turns each other's winner, and somebody who comes down.
  if (letter === "L" && Number(round) % 2 === 0) return [`L${Number(round) - 1}-${number}`];
  return [2 * Number(number) - 1, 2 * Number(number)].map((at) => `${letter}${Number(round) - 1}-${at}`);
}

/** @returns {Match} */
function matchOf(name, known, fed) {
  if (!known) {
    const comers = [0, 1].map((at) => fed[at]?.sides.find((side) => side.hasWon)?.entrant ?? null);
    const isNobody = [0, 1].map((at) => fed[at]?.isVoid ?? false);
    // Whoever meets nobody goes on without a table.
    const sides = comers.map((entrant, at) => ({ entrant, isNobody: isNobody[at], home: null, hasWon: entrant !== null && isNobody[1 - at] }));
    return { name, sides, isBye: false, isVoid: isNobody.every(Boolean), race: null };
  }
  const { table, isOver } = known;
  if (!table.counted) return { name, sides: [{ entrant: table.first, isNobody: false, home: null, hasWon: true }], isBye: true, isVoid: false, race: null };
  const { result } = table;
  const side = (entrant, home, wins) => ({ entrant, isNobody: false, home: result && !result.forfeit ? home : null, hasWon: result?.verdict === wins });
  return {
    name, isBye: false, isVoid: result?.verdict === "neither", race: isOver ? table.race_ids.at(-1) ?? null : null,
    sides: inOrder([side(table.first, result?.first_home, "first"), side(table.second, result?.second_home, "second")], fed),
  };
}

/** As the lines of the tree come in: a table has the better seed first. */
function inOrder(sides, fed) {
  const lower = fed[1]?.sides.find((side) => side.hasWon)?.entrant;
  return lower !== undefined && sides[0].entrant === lower ? [sides[1], sides[0]] : sides;
}

/** The bracket as elements. names: of entrants, by id. @param {ReturnType<typeof bracketOf>} groups @param {Map<string, string>} names @param {{last?: number, chosen?: string | null, canLink?: boolean}} [options] last: of how many rounds, the last ones */
export function bracketNodes(groups, names, { last = Infinity, chosen = null, canLink = true } = {}) {
  return groups.flatMap(({ title, columns }) => [
    groups.length > 1 ? element("h3", {}, title) : null,
    element("div", { class: "bracket" }, columns.slice(-last).map((column, at, shown) => {
      const before = shown[at - 1]?.matches.length;
      const joins = shown[at + 1] === undefined ? "" : shown[at + 1].matches.length === column.matches.length ? " straight" : " joins";
      return element("div", { class: `bracket-column${joins}${before ? " fed" : ""}` },
        element("p", { class: "bracket-title" }, column.title),
        element("ol", { "aria-label": groups.length > 1 ? `${title}, ${column.title}` : column.title }, column.matches.map((match) => matchNode(match, names, chosen, canLink))));
    })),
  ]);
}

function matchNode(match, names, chosen, canLink) {
  const rows = match.sides.map(({ entrant, isNobody, home, hasWon }) => element("span", { class: `side${hasWon ? " has-won" : ""}${entrant !== null && entrant === chosen ? " chosen" : ""}` },
    entrant === null ? element("span", { class: "note" }, isNobody ? "nobody" : "open") : nameOf(names.get(entrant) ?? entrant),
    home === null ? null : element("span", { class: "count" }, String(home)),
    hasWon && !match.isBye ? element("span", { class: "unseen" }, " (won)") : null));
  if (match.isBye) rows.push(element("span", { class: "side note" }, "bye"));
  const box = element("span", { class: "match" }, rows);
  if (match.race === null || !canLink) return element("li", {}, box);
  return element("li", {}, element("a", { class: "match-link", href: `/race/${encodeURIComponent(match.race)}`,
    title: `Replay ${match.sides.map(({ entrant }) => clean(names.get(entrant) ?? entrant)).join(" against ")}` }, box));
}
