// Sentences about a position for its player: what they can do now, why a press did nothing, and in a first race how it is played. Read off the view alone, as the terminal's are.

import { cardTexts } from "./boards.js";
import { FACE_DOWN, choices, goesHome, homeward, movesFrom, source, target, topCard } from "./moves.js";

const NAMED = 4;
const PLACES = /^([a-jp][1-9]|[ws])$/;

/** One sentence: what the player can do now; without hasKeys it names no key. chips: their order is that of the cards that go home. @param {import("./moves.js").View} view @param {{has_waste: boolean}} rules @param {string} held */
export function hint(view, rules, held = "", hasKeys = true, chips = []) {
  if (!view.moves.length) return "No move is left.";
  if (held) return heldHint(view, held);
  if (view.pending !== null) {
    return `Fill the gap at ${view.pending}: take ${waysToFill(view)}.`;
  }
  const able = homeward(view, chips).filter((place) => PLACES.test(place));
  const others = otherMoves(view);
  const turn = rules.has_waste ? "turn the stock" : "deal a row from the stock";
  const all = hasKeys ? ` (${allHomeKey(view)}: all)` : "";
  if (able.length) return able.length === 1 ? `One card can go home: ${names(able)}.` : `${able.length} cards can go home: ${names(able)}${all}.`;
  if (others) return `Nothing goes home; ${others}${view.moves.includes("s") ? `, or ${turn}` : ""}.`;
  if (view.moves.includes("s")) return `Nothing fits: ${turn}.`;
  return view.moves.includes("r") ? "The stock is empty: redeal the waste." : "No move is left.";
}

/** The key that sends home all that can go: with a column g, the small letter begins a slot's name. @param {import("./moves.js").View} view */
export function allHomeKey(view) {
  return Object.keys(view.piles).some((place) => place[0] === "g") ? "G" : "g";
}

function heldHint(view, held) {
  const own = movesFrom(view, held);
  const places = ordered(view, own.length ? own.map(target) : [...choices(view, held)]);
  if (!own.length) return `${held} can take ${names(places)}: choose the card.`;
  const home = own.some(goesHome) ? ["home"] : [];
  return `${held} goes ${[...home, ...(places.length ? [`to ${names(places)}`] : [])].join(" or ")}: choose where.`;
}

function otherMoves(view) {
  const parts = [];
  const fills = ordered(view, view.moves.filter((move) => source(move) === "w").map(target));
  if (fills.length) parts.push(`${fillingText(view, "w")} can go to ${names(fills)}`);
  const onto = ordered(view, view.moves.filter((move) => target(move) === "w").map(source));
  if (onto.length) parts.push(`onto the waste: ${names(onto)}`);
  const moved = ordered(view, view.moves.filter((move) => !["", "w"].includes(target(move)) && !["w", "s"].includes(source(move))).map(source));
  if (moved.length) parts.push(`can be moved: ${names(moved)}`);
  return parts.join("; ");
}

function waysToFill(view) {
  return ["w", "s"].filter((place) => view.moves.includes(`${place}:${view.pending}`)).map((place) => fillingText(view, place)).join(" or ");
}

/** The card that the waste or the stock has for a gap, by its name: whoever does not look at it has the name alone. */
function fillingText(view, place) {
  const { rank, said } = cardTexts((place === "w" ? view.waste.at(-1) : view.stock_next[0]) ?? FACE_DOWN);
  if (rank) return `the ${said} from the ${place === "w" ? "waste" : "stock"}`;
  return place === "w" ? "the waste’s top card" : "the next stock card";
}

function ordered(view, places) {
  const wanted = new Set(places);
  return [...Object.keys(view.piles), "s", "w"].filter((place) => wanted.has(place) && PLACES.test(place));
}

function names(places) {
  const words = places.slice(0, NAMED).map((place) => ({ w: "the waste", s: "the stock" })[place] ?? place);
  return places.length > NAMED ? `${words.join(", ")} and more` : words.join(", ");
}

/** Why a place cannot be played now. @param {import("./moves.js").View} view @param {{has_waste: boolean, redeals: number}} rules @param {string} place */
export function whyNot(view, rules, place) {
  if (view.pending !== null) return `First fill the gap at ${view.pending}: take ${waysToFill(view)}.`;
  if ("SHDC".includes(place[0])) return "No card can go to that foundation now.";
  switch (place) {
    case "w":
      if (!rules.has_waste) return "There is no waste in this game.";
      return view.waste.length ? "The waste’s top card cannot be played now." : "The waste is empty.";
    case "s":
      if (!view.stock) return "The stock is empty.";
      return view.moves.some((move) => source(move) === "w") ? "Play the waste’s card first." : "The stock cannot be turned while a card can be played.";
    case "r":
      if (!rules.redeals) return "There is no redeal in this game.";
      return view.redeals && view.stock ? "Turn the stock to its end first; then r redeals." : "There is no redeal now.";
    default:
      if (!view.piles[place]) return `There is no slot ${place}.`;
      return view.piles[place].length ? `The card at ${place} cannot be played now.` : `${place} is empty.`;
  }
}

/** skill: what it teaches. isTold: it asks for nothing, and is over with the next move. fits: whether the table has a use for it.
 * @type {{skill: string, isTold?: boolean, fits: (at: Moment) => unknown, text: (at: Moment) => string}[]} */
const LESSONS = [
  {
    skill: "refill", isTold: true,
    fits: ({ filled }) => filled,
    text: ({ filled }) => `The gap has been filled by itself, from the ${filled}: there was nothing to choose.`,
  },
  {
    skill: "fill",
    fits: ({ view }) => view.pending !== null,
    text: ({ view, click, key }) => `Now fill the gap at ${view.pending}. ${click} the waste${key("w")} for its top card, which frees the one under it, or the stock${key("s")}.`,
  },
  {
    skill: "home",
    fits: ({ able }) => able.length,
    text: ({ view, able, chips, click, key }) => `${cardText(view, able[0])} at ${able[0]} can go home, to the pile of its suit. ${click} it${key(chips.find(({ place }) => place === able[0])?.key)}.`,
  },
  {
    skill: "waste",
    fits: ({ view, all }) => all.includes("w"),
    text: ({ view, click, key }) => `${cardText(view, "w")} on the waste can go home, too. ${click} it${key("w")}.`,
  },
  {
    skill: "stock",
    fits: ({ view, all }) => !all.length && view.moves.includes("s"),
    text: ({ rules, click, key }) => `Nothing fits now. ${click} the stock${key("s")}: ${rules.has_waste ? "its next card comes onto the waste, and may fit" : "a card comes onto every pile"}.`,
  },
  {
    // Where a gap takes no card off the waste there is nothing to wait for.
    skill: "hold", isTold: true,
    fits: ({ view, able, learned }) => able.length && view.moves.includes("s") && learned.has("fill") && learned.has("stock"),
    text: ({ view, able }) => `It may pay to hold a card back: turn the stock first, and the gap of ${cardText(view, able[0])} can take a card off the waste.`,
  },
];

/** @typedef {{view: import("./moves.js").View, rules: {has_waste: boolean}, chips: import("./moves.js").Chip[], all: string[], able: string[], filled: string, learned: Set<string>,
 *   click: string, key: (key: string | undefined) => string}} Moment  all, able: the places whose card can go home, the second without the waste. */

/** Whether a race may be a lesson: the sentences speak of a carpet, and at a table of a tournament nobody is taught. @param {{id: string}} rules @param {{tournament?: unknown}} room */
export function isTaught(rules, room) {
  return rules.id === "carpet" && !room.tournament;
}

/** In a browser's first race: a line for each thing that its player has not done yet, when the table has a use for it. Any other press works as usual. */
export class Lessons {
  #learned;
  /** What is told now, and asks for nothing. */
  #told = "";
  /** Where the card came from that the last move had fill a gap; empty if none did. */
  #filled = "";

  /** learned: the skills that are not taught any more, which it adds to. @param {Set<string>} learned */
  constructor(learned = new Set()) {
    this.#learned = learned;
  }

  /** A move of the player's, with the views before and after it. @param {string} move @param {import("./moves.js").View} before @param {import("./moves.js").View} after */
  take(move, before, after) {
    if (this.#told) this.#learned.add(this.#told);
    if (before.pending !== null) this.#learned.add("fill");
    else if (goesHome(move)) this.#learned.add(source(move) === "w" ? "waste" : "home");
    else if (move === "s") this.#learned.add("stock");
    const isRefilled = goesHome(move) && after.pending === null && topCard(after, source(move)) !== "" && (after.piles[source(move)]?.length ?? 0) === before.piles[source(move)]?.length;
    this.#filled = !isRefilled ? "" : after.stock < before.stock ? "stock" : "waste";
  }

  /** What the table has a use for; empty for nothing new. @param {import("./moves.js").View} view @param {{has_waste: boolean}} rules @param {import("./moves.js").Chip[]} chips @param {boolean} hasKeys */
  sentence(view, rules, chips, hasKeys) {
    const all = homeward(view, chips);
    const key = (name) => (hasKeys && name ? ` (key ${name})` : "");
    const moment = { view, rules, chips, all, able: all.filter((place) => place !== "w"), filled: this.#filled, learned: this.#learned, click: hasKeys ? "Click" : "Tap", key };
    const lesson = LESSONS.find(({ skill, fits }) => !this.#learned.has(skill) && fits(moment));
    this.#told = lesson?.isTold ? lesson.skill : "";
    return lesson?.text(moment) ?? "";
  }
}

function cardText(view, place) {
  const { rank, sign } = cardTexts(topCard(view, place));
  return `${rank}${sign}`;
}
