// A question over the page, and a page of keys.

import { button, element } from "./dom.js";

/** Ask; what is done where the first answer is chosen. Nothing is done by closing it. @param {string} text @param {[string, string]} answers @param {() => void} act */
export function ask(text, [yes, no], act) {
  const dialog = element("dialog", { "aria-label": text }, element("p", {}, text));
  const choose = (word, does) => button(word, () => {
    close(dialog);
    does?.();
  });
  const stay = choose(no);
  dialog.append(element("p", { class: "answers" }, choose(yes, act), stay));
  open(dialog);
  stay.focus();
}

/** @param {string} title @param {string[][]} rows */
export function tell(title, rows) {
  const dialog = element("dialog", { "aria-label": title }, element("h2", {}, title),
    element("table", { class: "keys" }, element("tbody", {}, rows.map(([keys, words]) => element("tr", {}, element("th", { scope: "row" }, keys), element("td", {}, words))))),
    element("p", { class: "answers" }, button("Close", () => close(dialog))));
  open(dialog);
}

function open(dialog) {
  for (const way of ["cancel", "close"]) dialog.addEventListener(way, () => close(dialog));
  document.body.append(dialog);
  dialog.showModal();
}

/** At once: until the event of its close, the button that was pressed would go on to take keys, and swallow those that were meant for the table. */
function close(dialog) {
  dialog.close();
  dialog.remove();
}
