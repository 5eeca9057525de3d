// The bracket of a knock-out, as a tree: rounds from left to right, each match between the two that feed it.

import { clean, element, nameOf } from "./dom.js";

/** @typedef {{entrant: string | null, isNobody: boolean, home: number | null, hasWon: boolean}} Side isNobody: nobody comes here from the match that feeds it */
/** @typedef {{name: string, sides: Side[], isBye: boolean, race: string | null, winner?: string | null, loser?: string | null}} Match winner and loser: null for nobody, none while it is open */

/** All rounds of a tournament: those of its document, with the tables that are told live. @param {any} document @param {any} told */
export function roundsOf(document, told) {
  const known = new Map((document?.rounds ?? []).map((round) => [round.number, { ...round, isOver: round.secret !== null }]));
  const live = told.rounds.find((round) => round.number === told.round);
  if (live) known.set(told.round, { number: told.round, tables: told.tables, isOver: live.secret !== null });
  const byes = told.byes ?? [];
  return [...known.values()].map((round) => ({ ...round, byes: byes.filter((bye) => bye.round === round.number) })).sort((one, other) => one.number - other.number);
}

/** Columns of a bracket with their titles, in groups: the winners, in a double knock-out the losers, and the end. @param {any[]} rounds @param {boolean} isDouble @returns {{title: string, columns: {title: string, matches: Match[]}[]}[]} */
export function bracketOf(rounds, isDouble) {
  const tables = new Map();
  for (const round of rounds) for (const table of round.tables) if (table.match) tables.set(table.match, { table, isOver: round.isOver });
  const first = [...tables.keys()].filter((name) => name.startsWith("W1-")).map((name) => Number(name.slice(3)));
  if (!first.length) return [];
  const size = 2 ** Math.ceil(Math.log2(Math.max(...first)));
  const made = new Map();
  const make = (name, sources) => {
    made.set(name, matchOf(name, tables.get(name), sources.map(([which, from]) => made.get(from)[which])));
    return made.get(name);
  };
  const column = (letter, number, count, title) => ({
    title,
    matches: Array.from({ length: count }, (_, at) => make(`${letter}${number}-${at + 1}`, sourcesOf(letter, number, at + 1, count))),
  });
  const winners = [];
  for (let [number, count] = [1, size]; count >= 1; number += 1, count /= 2) {
    winners.push(column("W", number, count, isDouble ? `Round ${number}` : { 1: "Final", 2: "Semi-finals", 4: "Quarter-finals" }[count] ?? `Round ${number}`));
  }
  if (!isDouble) return [{ title: "Bracket", columns: winners }];
  const losers = [];
  for (let [number, count] = [1, size / 2]; count >= 1; number += 1, count /= number % 2 ? 2 : 1) losers.push(column("L", number, count, `Round ${number}`));
  const [best] = winners.at(-1).matches;
  // Of two players the one who has lost has the only way back.
  const last = losers.length ? ["winner", losers.at(-1).matches[0].name] : ["loser", best.name];
  const end = [{ title: "Final", matches: [make("F", [["winner", best.name], last])] }];
  if (tables.has("R")) end.push({ title: "Decider", matches: [make("R", [["winner", "F"], ["loser", "F"]])] });
  return [{ title: "Winners", columns: winners }, ...(losers.length ? [{ title: "Losers", columns: losers }] : []), { title: "Final", columns: end }];
}

/** Whose winners or losers meet in a match of the winners' or the losers' rounds, as the server pairs them. number: of the match, of so many in its round.
 * @param {string} letter @param {number} round @param {number} number @param {number} count @returns {["winner" | "loser", string][]} */
function sourcesOf(letter, round, number, count) {
  const neighbours = [2 * number - 1, 2 * number];
  if (letter === "W") return round === 1 ? [] : neighbours.map((at) => ["winner", `W${round - 1}-${at}`]);
  if (round === 1) return neighbours.map((at) => ["loser", `W1-${at}`]);
  if (round % 2) return neighbours.map((at) => ["winner", `L${round - 1}-${at}`]);
  // Those who come down are by turns reversed and shifted by half: so they meet no one again at once.
  const fall = round / 2 + 1;
  const down = fall % 2 ? ((number - 1 + Math.floor(count / 2)) % count) + 1 : count + 1 - number;
  return [["winner", `L${round - 1}-${number}`], ["loser", `W${fall}-${down}`]];
}

/** come: who comes from the matches before; null for nobody, undefined while it is not known. @param {(string | null | undefined)[]} come @returns {Match} */
function matchOf(name, known, come) {
  if (!known) {
    // Whoever meets nobody goes on without a table.
    const sides = [0, 1].map((at) => ({ entrant: come[at] ?? null, isNobody: come[at] === null, home: null, hasWon: Boolean(come[at]) && come[1 - at] === null }));
    const isDecided = sides.some((side) => side.isNobody) && come.every((side) => side !== undefined);
    return { name, sides, isBye: false, race: null, winner: isDecided ? come[0] ?? come[1] : undefined, loser: isDecided ? null : undefined };
  }
  const { table, isOver } = known;
  if (!table.counted) return { name, sides: [{ entrant: table.first, isNobody: false, home: null, hasWon: true }], isBye: true, race: null, winner: table.first, loser: null };
  const { result } = table;
  const side = (entrant, home, wins) => ({ entrant, isNobody: false, home: result && !result.forfeit ? home : null, hasWon: result?.verdict === wins });
  const [winner, loser] = { first: [table.first, table.second], second: [table.second, table.first], neither: [null, null] }[result?.verdict] ?? [];
  return {
    name, isBye: false, race: isOver ? table.race_ids.at(-1) ?? null : null, winner, loser,
    sides: inOrder([side(table.first, result?.first_home, "first"), side(table.second, result?.second_home, "second")], come),
  };
}

/** As the lines of the tree come in: a table has the better seed first. */
function inOrder(sides, come) {
  return sides[0].entrant === come[1] ? [sides[1], sides[0]] : sides;
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
