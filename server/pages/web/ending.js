// How a race has ended, for its players: places, ratings, the curves, and whether the deal checks out.

import { cardFaces } from "./boards.js";
import { announce, beQuiet, button, clean, clockText, copyText, counted, element, homeText, listed, nameOf, ratingChange, setText } from "./dom.js";
import { checks, verdict } from "./fairness.js";
import { isOwnMachine } from "./connection.js";
import { cardsOf, endWord } from "./model.js";
import { foundationCard } from "./moves.js";
import { Plot } from "./plot.js";
import { seriesSentence, wonSentence } from "./series.js";

const RUNS_SHOWN = 5;
/** Columns of the strip that tells others how a run went. */
const STRIP = 10;
const BLOCKS = "▁▂▃▄▅▆▇█";
/** A race won by no more than this was close. */
const CLOSE_CARDS = 2;
const CLOSE_MS = 3_000;

export class Ending {
  #shown = "";
  #race = "";
  /** Of the curve of one's own. */
  #points = [];

  /** @param {{again: () => void, leave: () => void}} does */
  constructor({ again, leave }) {
    this.heading = element("h2", { id: "ending" }, "The race is over");
    this.flourish = element("p", { class: "flourish", hidden: true });
    this.places = element("ol", { class: "places" });
    this.series = element("p", { hidden: true });
    this.won = element("p", { hidden: true });
    this.runs = element("div", { class: "runs", hidden: true });
    this.runLine = element("code", {});
    this.copy = button("Copy", () => copyText(this.copy, this.runLine), { "aria-label": "Copy the line about your run" });
    this.verdict = element("p", { class: "verdict" });
    this.list = element("ul", { class: "checks" });
    this.proof = element("details", {}, element("summary", {}, "What was checked, in this page"), this.list);
    this.link = element("a", {}, "Replay it, or show it to somebody");
    this.linkPart = element("p", {}, this.link);
    this.plot = new Plot();
    this.again = button("Another race", again, { class: "main-button" });
    this.leave = button("Leave", leave);
    this.asked = element("p", { class: "note" });
    this.node = element("section", { class: "ending", "aria-labelledby": "ending" }, this.heading, this.flourish, this.series, this.places, this.won, this.runs, this.asked,
      element("p", { class: "actions" }, this.again, this.leave), this.plot.node, this.verdict, this.proof, this.linkPart);
  }

  /** finished: the race that is over, which between two races of a series is the one before.
   * @param {import("./played.js").PlayedRace} room @param {any} finished @param {number} cards @param {number} decks @param {import("./fairness.js").Evidence | null} evidence */
  show(room, finished, cards, decks, evidence) {
    const { seats: ended, record, ratings } = finished;
    const { series, isToBegin } = room;
    // The next race of a series is open already, and the same button says that one is ready for it.
    setText(this.again, isToBegin ? "Ready" : "Another race");
    this.again.hidden = !isToBegin && (room.phase !== "over" || room.shared !== null || room.own?.again || room.seats.some((seat) => seat.left)
      || (series !== null && !series.over));
    this.#noteRace(`${room.code} ${finished.race}`);
    this.series.hidden = !series;
    this.runs.hidden ||= room.shared === null;
    // Once a series is over, who won it goes before who won its last race.
    const told = [headline(ended, room.seat), ...(series ? [seriesSentence(series, room.phase, room.seat)] : [])];
    const [first, second = ""] = series?.over ? told.reverse() : told;
    setText(this.heading, first);
    setText(this.series, second);
    const won = series && !series.over ? "" : wonSentence(room);
    this.won.hidden = !won;
    setText(this.won, won);
    setText(this.asked, whoAsks(room));
    const key = JSON.stringify([room.code, finished.race, room.seat, ended, ratings, record?.id]);
    if (key === this.#shown) return;
    this.#shown = key;
    this.#points = finished.curves.get(room.seat) ?? [];
    const order = ended.map((seat, number) => ({ ...seat, number, rating: ratings[number] })).sort((one, other) => one.place - other.place);
    this.places.replaceChildren(...order.map((seat) => element("li", { value: String(seat.place) }, nameOf(seat.name), seat.number === room.seat ? " (you)" : "",
      `: ${homeText(seat)} · ${endWord(seat, ended)}`, ...ratingChange(seat.rating))));
    this.flourish.hidden = ended[room.seat]?.place !== 1;
    if (!this.flourish.hidden) this.flourish.replaceChildren(...cardFaces(topCards(finished.foundations[room.seat])));
    const text = `Cards home over time. ${order.map((seat) => `${seat.name} ${seat.home}`).join(", ")}.`;
    this.plot.show(finished.curves, finished.end, cards, text, new Set());
    this.linkPart.hidden = !record?.id;
    if (record?.id) this.link.setAttribute("href", `/race/${encodeURIComponent(record.id)}`);
    this.proof.hidden = this.verdict.hidden = !record;
    if (!record) return;
    const made = checks(record, evidence, room.seat, decks);
    const whole = verdict(made, record);
    setText(this.verdict, whole.sentence);
    this.verdict.dataset.true = String(whole.isTrue);
    this.list.replaceChildren(...checkNodes(made));
  }

  #noteRace(race) {
    if (race === this.#race) return;
    this.#race = race;
    beQuiet(this.again, this.leave);
    // It stands above the table, which may have been scrolled to.
    this.heading.scrollIntoView({ block: "nearest" });
  }

  /** How one's own run of a deal stands to the others'. @param {import("carpet-wire").Runs} told @param {any} rules its `RulesInfo` @param {{name: string, home: number}[]} ghosts */
  showRuns(told, rules, ghosts) {
    const { own, rows, runs, secret } = told;
    this.runs.hidden = own === null;
    if (!own) return;
    const days = own.days > 1 ? ` You have run ${own.days} days in a row.` : "";
    const raced = ghostSentence(told, ghosts);
    if (raced) announce(raced);
    this.runs.replaceChildren(
      element("p", { class: "raced", hidden: !raced }, raced),
      element("p", {}, `Place ${own.place} of ${counted(runs, "run")}${secret === null ? " so far" : ""}${own.beats === null ? "" : `, better than ${own.beats} %`}.${days}`),
      element("ol", { class: "places" }, rows.slice(0, RUNS_SHOWN).map((row) => element("li", { value: String(row.place) }, nameOf(row.name),
        row.race === own.race ? " (you)" : "", `: ${homeText(row)}`))),
      element("p", { class: "command" }, this.runLine, this.copy));
    setText(this.runLine, runLine(told, rules, this.#points));
  }
}

/** Who won among a run and the ghosts that ran beside it; empty where there were none. A ghost tells no more of its run than a name and how far it
 * was, which may fit several: then nothing is said of who won. @param {import("carpet-wire").Runs} told @param {{name: string, home: number}[]} ghosts */
export function ghostSentence({ own, rows }, ghosts) {
  if (!ghosts.length) return "";
  const fitting = ghosts.map(({ name, home }) => rows.filter((row) => row.race !== own.race && row.name === name && row.home >= home));
  if (fitting.some((found) => found.length !== 1)) return `You ran beside ${ghosts.length === 1 ? `${clean(ghosts[0].name)}’s ghost` : `${ghosts.length} ghosts`}.`;
  const [best] = fitting.flat().sort((one, other) => one.place - other.place);
  const ghost = `${clean(best.name)}’s ghost`;
  if (own.place === best.place) return `A draw with ${ghost}.`;
  const { by, isClose } = margin([own, best]);
  if (own.place < best.place) return `You beat ${ghost}${by}.`;
  return `${isClose ? "So close: " : ""}${ghost} won${by}.`;
}

/** One's own run in a line to give to others, as in the terminal: it says nothing of the deal. rules: its `RulesInfo`. points: of the run's curve.
 * @param {import("carpet-wire").Runs} told @param {any} rules @param {number[][]} points */
export function runLine({ kind, id, rules: of, runs, own }, rules, points, origin = location.origin) {
  const cards = cardsOf(rules);
  const took = countedAt(own);
  const homeAt = (ms) => points.findLast(([at]) => at <= ms)?.[1] ?? points[0][1];
  const counts = points.length ? [...Array.from({ length: STRIP - 1 }, (_, tenth) => homeAt(Math.floor((took * (tenth + 1)) / STRIP))), own.home] : [];
  const course = counts.map((home) => BLOCKS[Math.max(Math.ceil((home * BLOCKS.length) / cards), 1) - 1]).join("");
  const what = kind === "daily" ? `deal of ${clean(id)}` : `challenge ${clean(id)}`;
  const days = own.days > 1 ? `, ${counted(own.days, "day")} in a row` : "";
  const way = kind === "daily" ? `daily&rules=${encodeURIComponent(of)}` : `challenge=${encodeURIComponent(id)}`;
  const come = isOwnMachine(origin) ? "" : ` Your turn: ${origin}/play?${way}`;
  return `Carpet Race, ${what}, ${clean(rules?.name ?? of)}: ${course && `${course} `}${own.home}/${cards} in ${clockText(took, true)}, place ${own.place} of ${runs}${days}.${come}`;
}

/** Who waits for the player's word, for whose word they wait, and who is not there. What somebody has asked for holds as long as they are. @param {import("./played.js").PlayedRace} room */
export function whoAsks(room) {
  const others = room.seats.filter((seat) => seat.seat !== room.seat && !seat.bot && seat.name !== null);
  const say = (seats, one, more) => (seats.length ? `${listed(seats.map((seat) => clean(seat.name)))} ${seats.length === 1 ? one : more}.` : "");
  if (room.isToBegin) return say(others.filter((seat) => seat.ready), "is ready", "are ready");
  // Without them there is no other race; at a table of a tournament, or of a deal that is run once, there is none anyway.
  const left = others.filter((seat) => seat.left);
  if (left.length && room.shared === null) return say(left, "has left", "have left");
  const away = room.shared === null ? say(others.filter((seat) => seat.away), "is not connected", "are not connected") : "";
  const asked = room.own?.again ? "Waiting for the others to ask for another race too."
    : say(others.filter((seat) => seat.again && !seat.away), "would like to race again", "would like to race again");
  return [asked, away].filter(Boolean).join(" ");
}

/** The top cards of foundations. @param {Record<string, number>} foundations */
function topCards(foundations) {
  return Object.entries(foundations).map(([name, count]) => foundationCard(name, count)).filter(Boolean);
}

/** Who won, and by how much, in the terminal's words. @param {import("carpet-wire").SeatRecord[]} seats */
export function headline(seats, own) {
  const mine = seats[own];
  if (!mine) return "The race is over";
  if (seats.length === 1) return mine.state === "won" ? "You brought every card home!" : `You brought ${counted(mine.home, "card")} home.`;
  const best = seats.filter((seat) => seat.place === 1);
  if (best.length > 1) return mine.place === 1 ? "A draw: you share the first place." : "A draw.";
  const { by, isClose } = margin(seats);
  if (mine.place === 1) return `You won${by}!`;
  return `${isClose && mine.place === 2 ? "So close: " : ""}${clean(best[0].name)} won${by}.`;
}

/** How a race has ended that its player may not have seen the end of. @param {import("./played.js").PlayedRace} last */
export function lastSentence({ ended, seat }) {
  if (!ended.length) return "";
  return `Your last race is over. ${headline(ended, seat)}${ended[seat]?.state === "forfeited" ? " You forfeited it." : ""}`;
}

/** " by 9 cards", or with equal cards " by 0.4 s"; nothing where nobody who stayed was beaten. */
function margin(seats) {
  const [first, next] = [...seats].sort((one, other) => one.place - other.place);
  if (first.place === next.place || next.state === "forfeited") return { by: "", isClose: false };
  const cards = first.home - next.home;
  if (cards) return { by: cards > 0 ? ` by ${counted(cards, "card")}` : "", isClose: cards > 0 && cards <= CLOSE_CARDS };
  const ms = countedAt(next) - countedAt(first);
  return { by: ms >= 100 ? ` by ${(ms / 1000).toFixed(1)} s` : ms > 0 ? ` by ${ms} ms` : "", isClose: ms > 0 && ms <= CLOSE_MS };
}

/** The moment that ranks a seat: when it reached its final count. */
function countedAt({ state, ended_at_ms: ended, home_at_ms: home }) {
  return state === "won" ? ended : home;
}

/** What was checked, as the items of a list. @param {import("./fairness.js").Check[]} made */
export function checkNodes(made) {
  return made.map(({ isTrue, sentence }) => element("li", {}, `${{ true: "✓", false: "✗", null: "–" }[String(isTrue)]} ${sentence}`));
}
