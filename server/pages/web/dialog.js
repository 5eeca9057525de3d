// A question over the page, and a page of keys.

import { element } from "./dom.js";

/** Ask; what is done where the first answer is chosen. Nothing is done by closing it. @param {string} text @param {[string, string]} answers @param {() => void} act */
export function ask(text, [yes, no], act) {
  const dialog = element("dialog", { "aria-label": text }, element("p", {}, text));
  const choose = (word, does) => {
    const button = element("button", { type: "button" }, word);
    button.addEventListener("click", () => {
      shut(dialog);
      does?.();
    });
    return button;
  };
  const stay = choose(no);
  dialog.append(element("p", { class: "answers" }, choose(yes, act), stay));
  open(dialog);
  stay.focus();
}

/** @param {string} title @param {string[][]} rows */
export function tell(title, rows) {
  const close = element("button", { type: "button" }, "Close");
  const dialog = element("dialog", { "aria-label": title }, element("h2", {}, title),
    element("table", { class: "keys" }, element("tbody", {}, rows.map(([keys, words]) => element("tr", {}, element("th", { scope: "row" }, keys), element("td", {}, words))))),
    element("p", { class: "answers" }, close));
  close.addEventListener("click", () => shut(dialog));
  open(dialog);
}

function open(dialog) {
  for (const way of ["cancel", "close"]) dialog.addEventListener(way, () => shut(dialog));
  document.body.append(dialog);
  dialog.showModal();
}

/** With what has the focus in it: a browser would leave it there until its next frame, and the next key be pressed on what is not seen. */
function shut(dialog) {
  dialog.close();
  dialog.remove();
}
