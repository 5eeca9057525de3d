// Which page it is, by the address, and the line that all of it comes by.

import { announce, element, setText } from "./dom.js";
import { Line, serverAddress } from "./line.js";
import { LobbyPage } from "./lobby.js";
import { PlayPage } from "./play.js";
import { RacePage } from "./race.js";
import { TournamentPage } from "./tournament.js";

const state = document.getElementById("line");
const again = element("button", { type: "button" }, "Try now");
const sentence = element("span", {});
let wasLost = false;

const line = new Line({
  hello() {
    // A guest who only watches, but where somebody plays.
    return page.hello?.() ?? { type: "hello", name: "", watch: true, software: "web page" };
  },
  onUp(welcome) {
    state.replaceChildren();
    state.classList.remove("lost");
    document.body.classList.remove("stale");
    if (wasLost) announce("The line is back.");
    wasLost = false;
    page.up(welcome);
  },
  onMessage(message) {
    page.hear(message);
  },
  onLost() {
    wasLost = true;
    document.body.classList.add("stale");
    state.classList.add("lost");
    setText(sentence, "The line to the server is lost. It is tried again by itself.");
    if (!again.isConnected) state.replaceChildren(sentence, " ", again);
    page.lost?.();
  },
  onTaken() {
    page.taken?.();
  },
});
again.addEventListener("click", () => line.tryNow());

const step = location.pathname.match(/^\/watch\/([^/]+)$/)?.[1];
const tournament = location.pathname.match(/^\/tournament\/([^/]+)$/)?.[1];
const play = location.pathname.match(/^\/play(?:\/([^/]+))?$/);
const page = play !== null ? new PlayPage(line, play[1] === undefined ? null : codeOf(play[1])) : tournament !== undefined ? new TournamentPage(line, codeOf(tournament) ?? tournament)
  : step === undefined ? new LobbyPage(line) : new RacePage(line, codeOf(step));
const here = play !== null ? "play" : tournament === undefined ? { undefined: "lobby", closest: "closest" }[step] : undefined;
if (here) document.querySelector(`[data-page="${here}"]`).setAttribute("aria-current", "page");
document.getElementById("address").textContent = serverAddress();
document.getElementById("main").replaceChildren(page.node);
line.open();

function codeOf(text) {
  if (text === "closest") return null;
  try {
    return decodeURIComponent(text).slice(0, 16);
  } catch {
    return text.slice(0, 16);
  }
}
