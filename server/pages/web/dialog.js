// A question over the page, a few lines of which one is chosen, and a page of keys.

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

/** Have one of a few lines chosen, by its number or its button. Nothing is done by closing it. @param {string} text @param {string[]} lines at most nine @param {(at: number) => void} act */
export function choose(text, lines, act) {
  const dialog = element("dialog", { "aria-label": text }, element("p", {}, text));
  const take = (at) => {
    close(dialog);
    act(at);
  };
  dialog.append(
    element("p", { class: "answers" }, lines.map((line, at) => button(`${at + 1} ${line}`, () => take(at), { "aria-keyshortcuts": String(at + 1) }))),
    element("p", { class: "answers" }, button("Close", () => close(dialog))));
  dialog.addEventListener("keydown", (event) => {
    const at = Number(event.key) - 1;
    if (!(at in lines) || event.ctrlKey || event.metaKey || event.altKey) return;
    // Once the dialog is closed the key would be one for the table.
    event.preventDefault();
    event.stopPropagation();
    take(at);
  });
  open(dialog);
}

/** @param {string} title @param {string[][]} rows */
export function tell(title, rows) {
  // The focus is where one begins to read: on the button below a long page, it would open at its end.
  const dialog = element("dialog", { "aria-label": title }, element("h2", { tabindex: "-1", autofocus: true }, title),
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
