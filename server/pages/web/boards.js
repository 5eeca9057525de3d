// One seat's board as a table, changed in place: who reads it cell by cell stays where they are.

import { clockText, clean, counted, element, setText } from "./dom.js";

const SUITS = { S: ["♠", "spades"], H: ["♥", "hearts"], D: ["♦", "diamonds"], C: ["♣", "clubs"] };
const RANKS = { A: "ace", J: "jack", Q: "queen", K: "king", T: "10" };

/** A card that those who watch may not know yet. */
const FACE_DOWN = "??";

/** "TD" as it is drawn, "10♦", and as it is said, "10 of diamonds". */
export function cardTexts(card) {
  if (card === FACE_DOWN) return { rank: "", sign: "", said: "card face down", isRed: false };
  const [sign, word] = SUITS[card[1]] ?? [clean(card[1]), clean(card[1])];
  const rank = card[0] === "T" ? "10" : clean(card[0]);
  return { rank, sign, said: `${RANKS[card[0]] ?? rank} of ${word}`, isRed: "HD".includes(card[1]) };
}

/** Cards laid out in a row: they say nothing that is not said elsewhere. @param {string[]} cards */
export function cardFaces(cards) {
  return cards.map((card) => {
    const { rank, sign, isRed } = cardTexts(card);
    return element("span", { class: `card${isRed ? " red" : ""}`, "data-suit": card[1], "aria-hidden": "true" }, element("span", {}, rank), element("span", {}, sign));
  });
}

/** "S+" as "♠", with an arrow where a suit has two foundations. */
export function foundationSign(id) {
  const arrow = { "+": "↑", "-": "↓" }[id[1]] ?? "";
  return (SUITS[id[0]]?.[0] ?? clean(id[0])) + arrow;
}

export function foundationWords(id, count) {
  const way = { "+": " upwards", "-": " downwards" }[id[1]] ?? "";
  return `${SUITS[id[0]]?.[1] ?? clean(id[0])}${way} ${count}`;
}

class Spot {
  #shown = null;

  constructor(tag, { isSideways = false } = {}) {
    this.face = element("span", { class: `card${isSideways ? " sideways" : ""}`, "aria-hidden": "true" });
    this.said = element("span", { class: "unseen" });
    this.node = element(tag, {}, this.face, this.said);
  }

  /** cards: bottom card first. gap: what an empty one is called. */
  show(cards, { gap = "gap", isPending = false, name = "" } = {}) {
    const key = `${cards.length} ${cards.at(-1)} ${isPending}`;
    if (this.#shown === key) return;
    // A card that has come is pointed out for a moment, but not all of them at the first sight.
    const isNew = this.#shown !== null && cards.length > 0;
    this.#shown = key;
    this.face.classList.toggle("gap", cards.length === 0);
    this.face.classList.toggle("pending", isPending);
    this.face.classList.remove("red", "new");
    this.face.classList.toggle("back", cards.at(-1) === FACE_DOWN);
    this.face.dataset.suit = cards.at(-1)?.[1] ?? "";
    if (!cards.length) {
      this.face.replaceChildren();
      this.said.textContent = `${name}${isPending ? "gap to be filled" : gap}`;
      return;
    }
    const { rank, sign, said, isRed } = cardTexts(cards.at(-1));
    this.face.classList.toggle("red", isRed);
    if (isNew) {
      void this.face.offsetWidth;
      this.face.classList.add("new");
    }
    const depth = cards.length > 1 ? element("small", {}, String(cards.length)) : null;
    this.face.replaceChildren(element("span", { class: "rank" }, rank), element("span", {}, sign), ...(depth ? [depth] : []));
    this.said.textContent = `${name}${said}${cards.length > 1 ? `, top of ${cards.length}` : ""}`;
  }
}

export class BoardView {
  #slots = new Map();
  #rules;

  /** rules: a `RulesInfo`. name: whose board it is. */
  constructor(rules, name) {
    this.#rules = rules;
    const letters = [..."abcdefghijklmnopqrstuvwxyz"].slice(0, rules.columns);
    const head = element("tr", {}, element("td"), letters.map((letter) => element("th", { scope: "col" }, letter)));
    const rows = Array.from({ length: rules.rows }, (_, row) =>
      element("tr", {}, element("th", { scope: "row" }, String(row + 1)), letters.map((letter, column) => this.#slot(`${letter}${row + 1}`, column + row))));
    const reserves = Array.from({ length: rules.reserves }, (_, number) => this.#slot(`p${number + 1}`, 0, "li"));
    this.heading = element("h3", {}, element("bdi", { class: "name" }, clean(name)));
    this.when = element("p", { class: "when" });
    this.homes = element("p", { class: "foundations" });
    this.stock = new Spot("span");
    this.stock.face.classList.add("back");
    this.stockText = element("span", { class: "note" });
    this.waste = new Spot("span");
    this.wasteText = element("span", { class: "note" });
    this.piles = element("p", { class: "piles" }, element("span", {}, this.stock.node, this.stockText));
    if (rules.has_waste) this.piles.append(element("span", {}, this.waste.node, this.wasteText));
    this.table = element("table", { class: `board ${rules.family}` }, element("caption", { class: "unseen" }, `Board of ${clean(name)}`),
      element("thead", {}, head), element("tbody", {}, rows));
    this.table.style.setProperty("--columns", String(rules.columns));
    this.table.style.setProperty("--rows", String(rules.rows));
    this.waiting = element("p", { class: "waiting" });
    const reserveList = reserves.length ? element("ol", { class: "reserves", "aria-label": "Reserves" }, reserves) : null;
    this.shown = element("div", { class: "shown", hidden: true }, this.homes, this.table, reserveList, this.piles);
    this.node = element("section", { class: "seat-board" }, this.heading, this.when, this.waiting, this.shown);
  }

  #slot(name, place, tag = "td") {
    const spot = new Spot(tag, { isSideways: this.#rules.family === "quilt" && tag === "td" && place % 2 === 1 });
    this.#slots.set(name, spot);
    return spot.node;
  }

  /** board: a `LateBoard`, or none yet; then `wait` says why. */
  show(board, wait) {
    this.shown.hidden = !board;
    this.waiting.hidden = Boolean(board);
    if (!board) {
      setText(this.waiting, wait);
      setText(this.when, "");
      return;
    }
    const { view } = board;
    setText(this.when, `As at ${clockText(board.elapsed_ms)} · ${counted(board.ply, "move")} · ${view.home} home`);
    const homes = Object.entries(view.foundations).map(([id, count]) => foundationNode(id, count));
    this.homes.replaceChildren(element("span", { class: "unseen" }, "On the foundations: "), ...homes);
    for (const [name, spot] of this.#slots) {
      spot.show(view.piles[name] ?? [], { isPending: view.pending === name, name: name.startsWith("p") ? `${name}: ` : "" });
    }
    this.piles.hidden = !this.#rules.has_waste && view.stock === 0;
    this.stock.face.classList.toggle("gap", view.stock === 0);
    setText(this.stockText, view.stock_next.length
      ? `Stock ${view.stock}, next ${view.stock_next.map((card) => drawn(card)).join(" ")}` : `Stock ${view.stock}`);
    this.waste.show(view.waste.slice(-1), { gap: "no card" });
    setText(this.wasteText, `Waste ${view.waste.length}`);
  }
}

function drawn(card) {
  const { rank, sign } = cardTexts(card);
  return rank + sign || "▒▒";
}

/** A foundation and how many cards are on it. */
export function foundationNode(id, count) {
  return element("span", { class: "HD".includes(id[0]) ? "red" : null },
    element("span", { "aria-hidden": "true" }, `${foundationSign(id)} ${count} `), element("span", { class: "unseen" }, `${foundationWords(id, count)}, `));
}
