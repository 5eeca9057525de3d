// How far a seat is, as a bar: on both pages.

import { foundationNode } from "./boards.js";
import { clean, counted, element, fill, nameOf, setText } from "./dom.js";
import { sample } from "./plot.js";

/** A seat's bar: name, how far it is, a word. */
export function bar(seat) {
  const name = element("span", { class: "who" });
  const count = element("span", { class: "count" });
  const filled = element("span", { class: `fill seat-${seat % 8}` });
  const meter = element("div", { class: "meter", role: "meter", "aria-valuemin": "0" }, filled);
  const suits = element("p", { class: "foundations" });
  const node = element("div", { class: "bar" }, element("p", { class: "bar-head" }, name, " ", count), meter);
  let shownName = null;
  return {
    node,
    show({ name: whose, bot, home, cards, word, isOwn = false, foundations = null, ply = null }) {
      const kind = bot ? " (bot)" : isOwn ? " (you)" : "";
      const title = clean(whose ?? "open seat") + kind;
      node.classList.toggle("has-word", Boolean(word));
      if (title !== shownName) {
        shownName = title;
        name.replaceChildren(sample(seat), whose === null ? "open seat" : nameOf(whose), element("span", { class: "kind" }, kind));
        meter.setAttribute("aria-label", title);
      }
      setText(count, `${word ? `${word} · ` : ""}${home}/${cards}`);
      meter.setAttribute("aria-valuemax", String(cards));
      meter.setAttribute("aria-valuenow", String(home));
      meter.setAttribute("aria-valuetext", `${home} of ${cards} cards home${word ? `, ${word}` : ""}`);
      filled.style.inlineSize = `${(100 * Math.min(home, cards)) / cards}%`;
      if (foundations === null) return;
      if (!suits.isConnected) node.append(suits);
      const suitNodes = () => Object.entries(foundations).map(([id, number]) => foundationNode(id, number));
      fill(suits, [foundations, ply], () => [...suitNodes(), element("span", { class: "moves" }, counted(ply, "move"))]);
    },
  };
}
