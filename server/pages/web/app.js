// Which page it is, by the address, and the connection that all of it comes by.

import { announce, button, clean, codeOf, element, ring, setText } from "./dom.js";
import { Connection, serverAddress, watcherHello } from "./connection.js";
import { leftSentence } from "./model.js";
import { PALETTES, settings } from "./identity.js";

const state = document.getElementById("connection");
const again = button("Try now", () => connection.tryNow());
const sentence = element("span", {});
const CONNECTING = "Connecting…";
let wasLost = false;
/** Whether there has been a connection. */
let wasUp = false;
/** What the player is called; empty while there is none. */
let name = "";
/** @type {any} */
let page = null;

const connection = new Connection({
  hello() {
    // A guest who only watches, but where somebody plays.
    return page.hello?.() ?? watcherHello();
  },
  asks() {
    return page.asks?.() ?? [];
  },
  onUp(welcome) {
    state.replaceChildren();
    state.classList.remove("lost");
    if (wasLost) announce(wasUp ? "Connected again." : "Connected.");
    wasLost = false;
    wasUp = true;
    name = welcome.name;
    page.up(welcome);
  },
  onMessage(message) {
    // An error may be the first answer.
    if (state.textContent === CONNECTING) state.replaceChildren();
    if (message.type === "you-are") name = message.name;
    if (message.type === "error" && message.code === "server/notice") showNotice("notice", clean(message.message));
    else if (message.type === "rated") showNotice("told", leftSentence(message, name));
    else page.hear(message);
  },
  onSlow() {
    if (!wasLost) setText(state, CONNECTING);
  },
  onLost() {
    wasLost = true;
    state.classList.add("lost");
    setText(sentence, wasUp ? "Connection lost. Reconnecting…" : "The server does not answer. Trying again…");
    if (!again.isConnected) state.replaceChildren(sentence, " ", again);
    page?.lost?.();
  },
  onMoved() {
    page?.lost?.();
  },
  onTaken() {
    page?.taken?.();
  },
});

/** At the foot of each page; the keys of a race press them as well. */
function showSettings() {
  const suits = button("", () => settings.turnPalette(), { id: "suits" });
  const bell = button("", () => settings.turnBell(), { id: "bell" });
  const show = () => {
    document.documentElement.dataset.suits = settings.palette;
    setText(suits, `Suits: ${PALETTES[settings.palette]}`);
    setText(bell, `Bell: ${settings.rings ? "on" : "off"}`);
  };
  for (const each of [suits, bell]) each.addEventListener("click", show);
  bell.addEventListener("click", () => settings.rings && ring());
  document.getElementById("settings").append(suits, bell);
  show();
}

/** On whichever page it is: id of the place for it. */
function showNotice(id, text) {
  const notice = document.getElementById(id);
  notice.replaceChildren(text, " ", button("Hide", () => notice.replaceChildren()));
}

showSettings();
connection.page = show();
connection.open();

async function show() {
  const [made, here] = await pageOf(location.pathname);
  page = made;
  document.querySelector(`[data-page="${here}"]`)?.setAttribute("aria-current", "page");
  document.getElementById("address").textContent = serverAddress();
  document.getElementById("main").replaceChildren(page.node);
}

/** The page at a path, and the link of the navigation that leads there. Each page's modules are fetched where it is shown, and nowhere else. */
async function pageOf(path) {
  const [, place, step, rest] = path.split("/").map(decoded);
  switch (place) {
    case "play": {
      const { PlayPage } = await import("./play.js");
      return [new PlayPage(connection, step ? codeOf(step).slice(0, 16) : null), "play"];
    }
    case "watch": {
      const { RacePage } = await import("./race.js");
      return [new RacePage(connection, step === "closest" ? null : step.slice(0, 16)), step === "closest" ? "closest" : ""];
    }
    case "embed": {
      // In a frame of somebody else's page: what is pressed opens beside it.
      document.body.classList.add("embedded");
      document.head.append(element("base", { target: "_blank" }));
      return pageOf(step === "closest" || !step.includes("-") ? `/watch/${step}` : `/race/${step}`);
    }
    case "race": {
      const { FinishedPage } = await import("./finished.js");
      return [new FinishedPage(step), ""];
    }
    case "screen": {
      const { ScreenPage } = await import("./screen.js");
      return [new ScreenPage(connection, null), ""];
    }
    case "tournament": {
      if (rest === "screen") {
        const { ScreenPage } = await import("./screen.js");
        return [new ScreenPage(connection, step), ""];
      }
      const { TournamentPage } = await import("./tournament.js");
      return [new TournamentPage(connection, step), "tournaments"];
    }
    case "ladder": case "search": case "player": case "daily": case "tournaments": case "challenges": case "challenge": {
      const { tablePage } = await import("./tables.js");
      return [tablePage(place, step, rest), place === "challenge" ? "challenges" : place];
    }
    default: {
      const { LobbyPage } = await import("./lobby.js");
      return [new LobbyPage(connection), "lobby"];
    }
  }
}

function decoded(step) {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
