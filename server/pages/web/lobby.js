// The page at `/`: which races are being run, which can be joined and how, and who is here.

import { bar } from "./bars.js";
import { against, announce, arrange, clean, clockText, copyText, counted, element, ratedName, setText } from "./dom.js";
import { serverAddress } from "./line.js";
import { STATE_WORDS } from "./model.js";
import { seriesName } from "./series.js";
import { TournamentList } from "./tournaments.js";

/** As many as one message lists, at most. */
const LISTED = 100;
/** With so many races there is something to look for. */
const FILTERED = 8;

export class LobbyPage {
  #rules = new Map();
  #running = new Map();
  #open = new Map();
  #heardAt = 0;
  #counts = "";
  /** Codes as they are shown: what is listed stays where it is, and only the closest is moved to the front. */
  #order = [];

  constructor(line) {
    this.line = line;
    document.title = "Carpet Race";
    this.summary = element("p", { class: "summary" }, "Looking …");
    this.search = element("input", { type: "search", id: "search", placeholder: "a name or a game", autocomplete: "off" });
    this.search.addEventListener("input", () => this.#filter());
    this.filter = element("p", { class: "field", hidden: true }, element("label", { for: "search" }, "Only with"), this.search);
    this.runningNote = element("p", { class: "none", hidden: true });
    this.openNote = element("p", { class: "none", hidden: true });
    this.runningList = element("ul", { class: "races", "aria-labelledby": "running" });
    this.noneRunning = element("p", { class: "none", hidden: true }, "No race is being run in public now. One that starts will be here at once.");
    this.openList = element("ul", { class: "open", "aria-labelledby": "open" });
    this.noneOpen = element("p", { class: "none", hidden: true }, "No race waits for somebody. ", element("a", { href: "/play" }, "Open one"), ".");
    this.here = element("p", { class: "here" });
    this.tournaments = new TournamentList();
    this.node = element("div", { class: "lobby" },
      element("h1", {}, "Races"), this.summary,
      element("p", { class: "actions" }, element("a", { class: "main-link", href: "/play" }, "Play")), this.filter,
      element("section", { "aria-labelledby": "running" }, element("h2", { id: "running" }, "Being run"), this.noneRunning, this.runningNote, this.runningList),
      element("section", { "aria-labelledby": "open" }, element("h2", { id: "open" }, "Open to join"), this.noneOpen, this.openNote, this.openList),
      this.tournaments.node,
      element("section", { "aria-labelledby": "here" }, element("h2", { id: "here" }, "Here now"), this.here));
    setInterval(() => this.#tick(), 1000);
  }

  up(welcome) {
    this.#rules = new Map(welcome.rules.map((rules) => [rules.id, rules]));
    this.line.send({ type: "follow-lobby" });
    this.line.send({ type: "follow-tournaments" });
  }

  hear(message) {
    if (message.type === "tournaments") this.tournaments.show(message.tournaments, this.#rules);
    if (message.type !== "lobby") return;
    this.#heardAt = performance.now();
    const counts = `${counted(message.races_running, "race")} being run, ${message.races_open} open, ${counted(message.players_here, "player")} here.`;
    setText(this.summary, counts);
    if (this.#counts && counts !== this.#counts) announce(counts, { isCount: true });
    this.#counts = counts;
    this.noneRunning.hidden = message.running.length > 0;
    this.noneOpen.hidden = message.races.length > 0;
    const closest = message.running[0]?.code;
    const listed = new Map(message.running.map((info) => [info.code, info]));
    this.#order = [...new Set([closest, ...this.#order, ...listed.keys()])].filter((code) => listed.has(code));
    this.#keep(this.#running, this.runningList, this.#order.map((code) => listed.get(code)), () => new RunningRace());
    for (const [code, race] of this.#running) race.isClosest(code === closest && message.running.length > 1);
    this.#keep(this.#open, this.openList, message.races, () => new OpenRace());
    shownOf(this.openNote, message.races.length, message.races_open);
    // Those that are not public are counted as well.
    shownOf(this.runningNote, message.running.length, message.running.length < LISTED ? message.running.length : message.races_running);
    this.filter.hidden = message.running.length + message.races.length < FILTERED && !this.search.value;
    this.#filter();
    this.#showPlayers(message.players, message.ratings, message.players_here);
    this.#tick();
  }

  #keep(known, list, infos, make) {
    for (const info of infos) {
      if (!known.has(info.code)) known.set(info.code, make());
      known.get(info.code).show(info, this.#rules.get(info.rules));
    }
    const codes = new Set(infos.map((info) => info.code));
    for (const code of [...known.keys()]) if (!codes.has(code)) known.delete(code);
    arrange(list, infos.map((info) => known.get(info.code).node));
  }

  #filter() {
    const wanted = this.search.value.trim().toLocaleLowerCase();
    for (const race of [...this.#running.values(), ...this.#open.values()]) race.node.hidden = !race.words.includes(wanted);
  }

  #showPlayers(players, ratings, count) {
    if (!count) {
      this.here.replaceChildren("Nobody.");
      return;
    }
    const more = count - players.length;
    this.here.replaceChildren(...players.flatMap((name, at) => [at ? ", " : "", ratedName(name, ratings[at])]), more > 0 ? ` and ${more} more` : "");
  }

  #tick() {
    for (const race of this.#running.values()) race.tick(performance.now() - this.#heardAt);
  }
}

/** "100 of 1001 shown", where not all are. */
function shownOf(node, shown, all) {
  node.hidden = shown >= all;
  setText(node, `${shown} of ${all} shown.`);
}

class RunningRace {
  #info = null;
  words = "";
  #bars = [];

  constructor() {
    this.link = element("a", {});
    this.badge = element("span", { class: "badge", hidden: true }, "closest");
    this.facts = element("p", { class: "facts" });
    this.seats = element("div", { class: "bars" });
    this.round = element("a", {}, "Its tournament");
    this.roundLine = element("p", { class: "facts", hidden: true }, this.round);
    this.node = element("li", {}, element("article", {}, element("h3", {}, this.link, " ", this.badge), this.facts, this.roundLine, this.seats));
  }

  isClosest(is) {
    this.badge.hidden = !is;
    this.node.classList.toggle("closest", is);
  }

  show(info, rules) {
    const names = info.seats.map((seat) => seat.name);
    const ratings = info.seats.map((seat) => seat.rating ?? null);
    this.words = [...names, rules?.name ?? "", info.rules].join(" ").toLocaleLowerCase();
    if (!this.#info || names.join("\n") !== this.#info.seats.map((seat) => seat.name).join("\n")) {
      this.link.replaceChildren(...against(names, ratings));
      this.link.setAttribute("href", `/watch/${encodeURIComponent(info.code)}`);
      this.#bars = info.seats.map((seat, number) => bar(number));
      this.seats.replaceChildren(...this.#bars.map((each) => each.node));
    }
    this.#info = info;
    this.roundLine.hidden = !info.tournament;
    if (info.tournament) this.round.setAttribute("href", `/tournament/${encodeURIComponent(info.tournament)}`);
    this.rulesName = clean(rules?.name ?? info.rules);
    const cards = (rules?.decks ?? 1) * 52;
    info.seats.forEach((seat, number) =>
      this.#bars[number].show({ name: seat.name, bot: seat.bot, home: seat.home, cards, word: STATE_WORDS[seat.state] ?? "" }));
  }

  tick(since) {
    const { elapsed_ms: elapsed, time_limit_s: limit, watchers } = this.#info;
    const clock = clockText(Math.min(elapsed + since, limit * 1000));
    const watched = watchers ? ` · ${watchers} watching` : "";
    setText(this.facts, `${this.rulesName} · ${clock} of ${clockText(limit * 1000)}${watched}`);
  }
}

class OpenRace {
  #shown = "";
  words = "";

  constructor() {
    this.heading = element("h3", {});
    this.facts = element("p", { class: "facts" });
    this.command = element("code", {});
    this.copy = element("button", { type: "button" }, "Copy");
    this.copy.addEventListener("click", () => copyText(this.copy, this.command));
    this.watch = element("a", {}, "Watch it begin");
    this.join = element("a", { class: "main-link" }, "Race here");
    this.node = element("li", {}, element("article", {}, this.heading, this.facts,
      element("p", { class: "actions" }, this.join, this.watch), element("p", { class: "command" }, this.command, " ", this.copy)));
  }

  show(info, rules) {
    const key = JSON.stringify(info);
    if (key === this.#shown) return;
    this.#shown = key;
    this.words = [...info.names, rules?.name ?? "", info.rules].join(" ").toLocaleLowerCase();
    const free = info.seats - info.names.length;
    this.heading.replaceChildren(...(info.names.length ? against(info.names, info.ratings) : ["Nobody yet"]), ` (${counted(free, "open seat")})`);
    const facts = [clean(rules?.name ?? info.rules), seriesName(info.series), counted(info.seats, "seat"), `at most ${clockText(info.time_limit_s * 1000)}`];
    setText(this.facts, [...facts, info.rated ? "rated" : ""].filter(Boolean).join(" · "));
    setText(this.command, `carpet join ${serverAddress()} ${clean(info.code)}`);
    this.copy.setAttribute("aria-label", `Copy the command that joins race ${clean(info.code)}`);
    this.join.setAttribute("href", `/play/${encodeURIComponent(info.code)}`);
    this.join.setAttribute("aria-label", `Race here in race ${clean(info.code)}`);
    this.watch.setAttribute("href", `/watch/${encodeURIComponent(info.code)}`);
    this.watch.setAttribute("aria-label", `Watch it begin: race ${clean(info.code)}`);
  }
}
