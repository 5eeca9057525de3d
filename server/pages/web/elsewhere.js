// Going on in another browser, or at a terminal: whoever has a player's token is that player.

import { ask } from "./dialog.js";
import { button, copyText, element, inHash, setText } from "./dom.js";
import { serverAddress } from "./connection.js";

const BE = "be";
/** As the server makes them, and no other text. */
const TOKEN = /^[\w-]{16,128}$/;

/** The token in the address, which is sent to nobody, if there is one; the address has it no longer then. */
export function takenToken() {
  const token = inHash(BE);
  if (token === null) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return TOKEN.test(token) ? token : null;
}

/** Ask before this browser becomes somebody else's: a link may come from anybody. @param {() => void} act */
export function askToBe(act) {
  ask("Become the player of that link in this browser? The player you are here now is kept, and you can switch back.", ["Be that player", "Stay"], act);
}

export class Elsewhere {
  #token = "";

  constructor() {
    this.link = element("code", {});
    this.copy = button("Copy the link", () => copyText(this.copy, this.link));
    this.save = button("Save it for a terminal", () => this.#save());
    this.node = element("details", { class: "more", hidden: true }, element("summary", {}, "Continue elsewhere"),
      element("p", {}, "Open this link in another browser to be the same player there, in the same seat. Whoever has it can play as you: send it only to yourself."),
      element("p", { class: "command" }, this.link, this.copy),
      element("p", {}, "In a terminal: save the file, and then ", element("code", {}, "carpet identity import carpet-identity.json"), "."), element("p", { class: "actions" }, this.save));
    // It stands on the screen for no longer than somebody wants to see it.
    this.node.addEventListener("toggle", () => setText(this.link, this.node.open ? `${location.origin}/play#${BE}=${this.#token}` : ""));
  }

  /** token: null for who is no player yet. @param {string | null} token @param {string} name */
  show(token, name) {
    this.node.hidden = !token;
    if (token !== this.#token) this.node.open = false;
    this.#token = token ?? "";
    this.name = name;
  }

  /** What `carpet identity export` writes. */
  #save() {
    const { name } = this;
    const document = { format: 1, servers: { [serverAddress()]: { name, tokens: { [name]: this.#token } } } };
    const address = URL.createObjectURL(new Blob([JSON.stringify(document)], { type: "application/json" }));
    element("a", { href: address, download: "carpet-identity.json" }).click();
    URL.revokeObjectURL(address);
  }
}
