// Everybody against everybody as a table, and one player's way through a tournament. Both from its rounds, as `bracket.js` puts them together.

import { clean, counted, element, nameOf } from "./dom.js";

/** Of a race at a table: what it was worth for one side, in words and as a score. */
const WORTH = { won: "1", drawn: "½", lost: "0" };

/** How it went for an entrant at a table that has a result. */
function outcome({ verdict }, isFirst) {
  if (verdict === "draw") return "drawn";
  return verdict === (isFirst ? "first" : "second") ? "won" : "lost";
}

/** An entrant's tables, round by round. @param {any[]} rounds of `roundsOf` @param {string} entrant */
export function pathOf(rounds, entrant) {
  return rounds.flatMap((round) => round.tables.filter((table) => [table.first, table.second].includes(entrant)).map((table) => {
    const isFirst = table.first === entrant;
    const { result } = table;
    return {
      round: round.number, table: table.table, match: table.match, isBye: !table.counted, isForfeit: Boolean(result?.forfeit),
      other: isFirst ? table.second : table.first, how: result && table.counted ? outcome(result, isFirst) : null,
      homes: result && !result.forfeit ? (isFirst ? [result.first_home, result.second_home] : [result.second_home, result.first_home]) : null,
      races: round.isOver ? table.race_ids : [],
    };
  }));
}

/** Who met whom, as a grid: of each row's entrant the results against each column's. @param {any[]} rounds @param {string[]} order */
export function gridOf(rounds, order) {
  const met = new Map(order.map((entrant) => [entrant, new Map()]));
  for (const round of rounds) {
    for (const table of round.tables) {
      if (!table.counted || table.second === null) continue;
      for (const [own, other] of [[table.first, table.second], [table.second, table.first]]) {
        const cells = met.get(own);
        if (!cells) continue;
        const score = table.result ? WORTH[outcome(table.result, own === table.first)] : "·";
        cells.set(other, [...(cells.get(other) ?? []), { score, race: round.isOver ? table.race_ids.at(-1) ?? null : null, round: round.number }]);
      }
    }
  }
  return order.map((own) => order.map((other) => (own === other ? null : met.get(own).get(other) ?? [])));
}

/** The grid as the rows of a table. @param {any[]} rounds @param {string[]} order @param {Map<string, string>} names */
export function gridNodes(rounds, order, names) {
  const name = (entrant) => clean(names.get(entrant) ?? entrant);
  const head = element("tr", {}, element("td", {}), element("th", { scope: "col" }, "Player"),
    order.map((entrant, at) => element("th", { scope: "col", title: name(entrant), "aria-label": `${at + 1}: against ${name(entrant)}` }, String(at + 1))));
  const rows = gridOf(rounds, order).map((cells, at) => element("tr", {}, element("td", {}, String(at + 1)), element("th", { scope: "row" }, nameOf(names.get(order[at]) ?? order[at])),
    cells.map((cell, column) => (cell === null ? element("td", { class: "self" }, "—") : element("td", {}, cell.map(({ score, race, round }) => (race === null ? `${score} `
      : element("a", { href: `/race/${encodeURIComponent(race)}`, "aria-label": `${score}, round ${round} against ${name(order[column])}` }, score))))))));
  return [element("thead", {}, head), element("tbody", {}, rows)];
}

function replayWord(races, at) {
  return races.length > 1 ? `Replay race ${at + 1}` : "Replay";
}

const HOW = { won: "Won", drawn: "Drew", lost: "Lost" };

/** An entrant's way as the items of a list. @param {any[]} rounds @param {string} entrant @param {Map<string, string>} names */
export function pathNodes(rounds, entrant, names) {
  return pathOf(rounds, entrant).map((step) => {
    const other = step.other === null ? ["the house"] : [nameOf(names.get(step.other) ?? step.other)];
    const words = step.isBye ? ["A bye"] : step.how === null ? ["Against ", ...other, ": not over yet"] : [`${HOW[step.how]} against `, ...other];
    const facts = step.isForfeit ? ", by forfeit" : step.homes && !step.isBye ? `, ${step.homes[0]} : ${counted(step.homes[1], "card")} home` : "";
    const races = step.races.map((race, at) => element("span", {}, " · ", element("a", { href: `/race/${encodeURIComponent(race)}`,
      "aria-label": `${replayWord(step.races, at)} of round ${step.round}` }, replayWord(step.races, at))));
    return element("li", { value: String(step.round) }, ...words, facts, races);
  });
}
