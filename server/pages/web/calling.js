// The call to one's table of a tournament: what it says, and how long one has to be there and ready.

import { announce, clean, clockText, element, setText } from "./dom.js";

export class Call {
  /** @type {import("carpet-wire").Called | null} */
  #called = null;
  #until = null;
  #said = null;

  constructor() {
    this.text = element("span", {});
    this.within = element("span", {});
    this.go = element("a", { class: "main-link" }, "Go to your table");
    this.node = element("p", { class: "notice actions", hidden: true }, element("span", {}, this.text, this.within), this.go);
  }

  /** @param {import("carpet-wire").Called} called @param {number} now */
  take(called, now) {
    const { code, round, opponent, until_ms: left } = called;
    this.#called = called;
    this.#until = left === null ? null : now + left;
    setText(this.text, `Round ${round}: your table${opponent ? ` against ${clean(opponent)}` : ""} waits for you.`);
    this.go.setAttribute("href", `/play/${encodeURIComponent(code)}#sit`);
  }

  /** After the next hello it is repeated, if it still stands. */
  lost() {
    this.#called = null;
  }

  /** Milliseconds until whoever is missing at the table in this room forfeits; null where none of them does. @param {string} code @param {number} now */
  left(code, now) {
    return this.#called?.code === code && this.#until !== null ? Math.max(this.#until - now, 0) : null;
  }

  /** here: the code of the race that the page is about. @param {string | null} here @param {number} now */
  show(here, now) {
    const called = this.#called;
    this.node.hidden = called === null || called.code === here;
    if (this.node.hidden) return;
    const left = this.left(called.code, now);
    setText(this.within, left === null ? "" : ` Be there and ready within ${clockText(left)}, or you forfeit.`);
    // Read out once, and not every second.
    if (called !== this.#said) announce(this.node.firstElementChild.textContent);
    this.#said = called;
  }
}
