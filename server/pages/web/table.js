// The player's own table: every place a button, changed in place. Shows a position and what may be pressed; what a press means is the player's.

import { cardTexts, foundationSign, foundationWords } from "./boards.js";
import { counted, element, fill, setText } from "./dom.js";
import { choices, foundationCard, freeSlots, isSideways, source } from "./moves.js";

const GLIDE_MS = 160;

/** @typedef {{view: import("./moves.js").View, chips: import("./moves.js").Chip[], held: string, ahead: string[], isPlaying: boolean}} Shown */

export class Table {
  #places = new Map();
  #motion = matchMedia("(prefers-reduced-motion: reduce)");
  #rules;
  isStill = false;

  /** @param {any} rules a `RulesInfo` @param {import("./moves.js").View} view the first one @param {(place: string) => void} press */
  constructor(rules, view, press) {
    this.#rules = rules;
    const make = (name, options = {}) => {
      const place = new Place(name, press, options);
      this.#places.set(name, place);
      return place.node;
    };
    const slots = Object.keys(view.piles);
    const grid = slots.filter((name) => name[0] !== "p" || rules.reserves === 0);
    this.homes = element("div", { class: "homes", role: "group", "aria-label": "Foundations" }, Object.keys(view.foundations).map((name) => make(name)));
    this.layout = element("div", { class: `layout ${rules.family}`, role: "group", "aria-label": "Your cards" },
      grid.map((name) => make(name, { isSideways: rules.family === "quilt" && isSideways(name), column: name[1] === "1" && name[0], row: name[0] === "a" && name[1] })));
    const reserves = slots.filter((name) => !grid.includes(name));
    this.stocks = element("div", { class: "stocks", role: "group", "aria-label": "Stock and waste" });
    const hasStock = view.stock > 0 || rules.has_waste;
    if (hasStock) this.stocks.append(make("s"));
    if (rules.has_waste) this.stocks.append(make("w"));
    if (rules.redeals > 0) this.stocks.append(make("r"));
    this.next = element("p", { class: "next", hidden: true });
    this.buried = element("ol", { class: "buried", "aria-label": "Under the waste’s top card, the next one first", hidden: true });
    // In a game whose waste is ever more than one card they have a place from the beginning, so that nothing moves as they come.
    const canBury = rules.has_waste && rules.family !== "twin";
    if (canBury || rules.visible_stock) this.stocks.append(element("div", { class: "beside" }, this.next, this.buried));
    this.stocks.classList.toggle("can-bury", canBury);
    this.node = element("div", { class: `felt ${rules.family}` }, this.homes,
      this.layout, reserves.length ? element("div", { class: "held-back", role: "group", "aria-label": "Reserves" }, reserves.map((name) => make(name, { own: name }))) : null,
      this.stocks);
    this.node.classList.toggle("broad", rules.columns > 8);
    this.node.style.setProperty("--columns", String(rules.columns));
    this.node.style.setProperty("--rows", String(rules.rows));
  }

  /** @param {Shown} shown */
  show({ view, chips, held, ahead, isPlaying }) {
    const ends = held ? choices(view, held) : new Set();
    const begins = new Set(view.moves.map(source));
    const keys = new Map(isPlaying ? chips.map((chip) => [chip.place, chip.key]) : []);
    const free = this.#rules.family === "quilt" ? freeSlots(this.#rules, view) : null;
    const isBlocked = (name) => free !== null && /^[a-h]/.test(name) && !free.has(name) && view.piles[name].length > 0;
    for (const [name, place] of this.#places) {
      const marks = {
        isHeld: held === name, isChoice: ends.has(name), canPlay: isPlaying && !held && begins.has(name),
        isWaiting: ahead.includes(name), key: keys.get(name) ?? "", isPending: view.pending === name,
        isBlocked: isBlocked(name),
      };
      if (name in view.foundations) place.showFoundation(name, view.foundations[name], marks);
      else if (name === "s") place.showStock(view.stock, this.#rules.has_waste, marks);
      else if (name === "r") place.showRedeal(view.redeals, marks);
      else place.showPile(name, name === "w" ? view.waste : view.piles[name] ?? [], marks);
    }
    this.next.hidden = view.stock_next.length === 0;
    setText(this.next, `Next: ${view.stock_next.map((card) => cardTexts(card)).map(({ rank, sign }) => rank + sign).join(" ")}`);
    const buried = view.waste.slice(0, -1).reverse();
    this.buried.hidden = buried.length === 0;
    fill(this.buried, buried, () => buried.map((card) => {
      const { rank, sign, said, isRed } = cardTexts(card);
      return element("li", { class: isRed ? "red" : null, "data-suit": card[1] }, element("span", { "aria-hidden": "true" }, rank + sign), element("span", { class: "unseen" }, said));
    }));
    // Tab goes from one card that can be played to the next; the arrows go everywhere.
    const stops = [...this.#places.values()].filter((place) => place.isStop);
    for (const place of this.#places.values()) place.node.tabIndex = place.isStop || (!stops.length && place === this.#places.values().next().value) ? 0 : -1;
  }

  /** Let cards glide from where they lay. @param {{from: string, to: string}[]} glides */
  glide(glides) {
    if (this.#motion.matches || this.isStill) return;
    for (const { from, to } of glides) {
      const [start, end] = [this.#places.get(from), this.#places.get(to)];
      if (!start || !end) continue;
      const [was, is] = [start.node.getBoundingClientRect(), end.node.getBoundingClientRect()];
      end.face.animate([{ transform: `translate(${was.x - is.x}px, ${was.y - is.y}px)`, zIndex: 2 }, { transform: "none", zIndex: 2 }],
        { duration: GLIDE_MS, easing: "ease-out" });
    }
  }

  /** Let all cards fall from their foundations. @param {Record<string, number>} foundations */
  fall(foundations) {
    if (this.#motion.matches || this.isStill) return;
    // Where they lie now: the result moves the table down.
    const homes = Object.entries(foundations).map(([name, count]) => ({
      box: this.#places.get(name).face.getBoundingClientRect(),
      cards: Array.from({ length: count }, (_, below) => foundationCard(name, count - below)),
    }));
    // Few races end like this, and without the module there is the result.
    import("./falling.js").then(({ fall }) => fall(homes), () => {});
  }

  /** The place that has the focus, else empty. */
  get cursor() {
    return /** @type {HTMLElement | null | undefined} */ (document.activeElement?.closest?.("[data-place]"))?.dataset.place ?? "";
  }

  /** Go to the nearest place that way. @param {number} x @param {number} y */
  step(x, y) {
    const all = [...this.#places.values()];
    const here = this.#places.get(this.cursor);
    if (!here) {
      all.find((place) => place.isStop)?.node.focus();
      return;
    }
    const middle = (place) => {
      const box = place.node.getBoundingClientRect();
      return [box.x + box.width / 2, box.y + box.height / 2];
    };
    const [fromX, fromY] = middle(here);
    const far = (place) => {
      const [toX, toY] = middle(place);
      const along = (toX - fromX) * x + (toY - fromY) * y;
      const aside = Math.abs((toX - fromX) * y) + Math.abs((toY - fromY) * x);
      return along < 4 ? Infinity : along + 3 * aside;
    };
    const nearest = all.reduce((best, place) => (far(place) < far(best) ? place : best), here);
    if (far(nearest) < Infinity) nearest.node.focus();
  }
}

class Place {
  #shown = "";
  isStop = false;

  /** column, row, own: of its name, what is written above it, beside it, and on it. */
  constructor(name, press, { isSideways = false, ...labels }) {
    this.face = element("span", { class: `card${isSideways ? " sideways" : ""}`, "aria-hidden": "true" });
    this.chip = element("kbd", { class: "chip", "aria-hidden": "true" });
    this.node = element("button", { type: "button", class: "place", "data-place": name, tabindex: "-1" }, this.face, this.chip,
      Object.entries(labels).filter(([, text]) => text).map(([where, text]) => element("span", { class: `label ${where}`, "aria-hidden": "true" }, text)));
    this.node.addEventListener("click", () => press(name));
  }

  /** face: a card, or nothing and what stands in its place. */
  #show({ card = "", back = false, stands = "", depth = 0, said, isRed = false }, marks) {
    const key = JSON.stringify([card, back, stands, depth, said, marks]);
    if (key === this.#shown) return;
    this.#shown = key;
    const { isHeld, isChoice, canPlay, isWaiting, isPending, isBlocked } = marks;
    this.isStop = canPlay || isChoice || isHeld;
    for (const [name, is] of Object.entries({ held: isHeld, choice: isChoice, playable: canPlay, ahead: isWaiting, blocked: isBlocked })) this.node.classList.toggle(name, is);
    const isDown = back || card === "??";
    this.face.classList.toggle("back", isDown);
    this.face.classList.toggle("gap", !card && !back);
    this.face.classList.toggle("pending", isPending);
    const texts = card && !isDown ? cardTexts(card) : null;
    this.face.classList.toggle("red", texts ? texts.isRed : isRed);
    this.face.dataset.suit = texts ? card[1] : "";
    const small = depth > 1 || (back && depth > 0) ? element("small", {}, String(depth)) : null;
    this.face.replaceChildren(...(texts ? [element("span", { class: "rank" }, texts.rank), element("span", { class: "sign" }, texts.sign)]
      : stands ? [element("span", { class: "stands" }, stands)] : []), ...(small ? [small] : []));
    setText(this.chip, marks.key);
    this.chip.hidden = !marks.key;
    const words = [isHeld ? "held" : "", isChoice ? "can take it" : "", canPlay ? "can be played" : "", isBlocked ? "blocked" : "", isWaiting ? "waiting to be played" : ""].filter(Boolean);
    this.node.setAttribute("aria-label", [said, ...words].join(", "));
    this.node.setAttribute("aria-pressed", String(isHeld));
  }

  showPile(name, cards, marks) {
    const where = name === "w" ? "Waste" : name;
    const card = cards.at(-1) ?? "";
    const said = !card ? `${where}: ${marks.isPending ? "gap to be filled" : name === "w" ? "empty" : "gap"}` : `${where}: ${cardTexts(card).said}${cards.length > 1 ? `, ${cards.length} cards` : ""}`;
    this.#show({ card, depth: cards.length, stands: card || name !== "w" ? "" : "waste", said }, marks);
  }

  showFoundation(name, count, marks) {
    const card = foundationCard(name, count);
    this.#show({ card, stands: foundationSign(name), depth: count, isRed: "HD".includes(name[0]), said: `Foundation of ${foundationWords(name, count)}` }, marks);
    this.face.dataset.way = { "+": "↑", "-": "↓" }[name[1]] ?? "";
  }

  showStock(count, hasWaste, marks) {
    this.#show({ back: count > 0, stands: count ? "" : "stock", depth: count, said: `Stock: ${counted(count, "card")}${hasWaste ? "" : ", deals a row"}` }, marks);
  }

  showRedeal(left, marks) {
    this.node.hidden = !marks.canPlay;
    this.#show({ stands: "redeal", said: `Redeal, ${left} left` }, marks);
  }
}
