// The page at `/`: which races are running, which can be joined and how, and who is here.

import { bar } from "./bars.js";
import { cardFaces } from "./boards.js";
import { against, announce, button, clean, clockText, copyText, counted, element, firstKnown, inlineField, ratedName, section, setText, showEach } from "./dom.js";
import { serverAddress } from "./connection.js";
import { LobbyModel, STATE_WORDS, byId, cardsOf } from "./model.js";
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
  #model = null;
  #counts = "";
  /** Of the tournaments that are listed, by id. @type {Map<string, string>} */
  #titles = new Map();

  constructor(connection) {
    this.connection = connection;
    document.title = "Carpet Race";
    this.summary = element("p", { class: "summary" }, "Looking …");
    this.search = element("input", { type: "search", id: "search", placeholder: "a name or a game", autocomplete: "off" });
    this.search.addEventListener("input", () => this.#sift());
    this.game = element("select", { id: "game" });
    this.rating = element("input", { type: "number", id: "rating", min: "0", max: "3000", step: "50", placeholder: "any" });
    for (const field of [this.game, this.rating]) field.addEventListener("input", () => this.#sift());
    this.filter = element("p", { class: "filter", hidden: true }, inlineField("Only with", this.search), inlineField("Game", this.game), inlineField("Rating from", this.rating));
    this.filtered = element("p", { class: "none" });
    this.runningNote = element("p", { class: "none", hidden: true });
    this.openNote = element("p", { class: "none", hidden: true });
    this.runningList = element("ul", { class: "races", "aria-labelledby": "running" });
    this.noneRunning = element("p", { class: "none", hidden: true }, "No public race is running now. The next one will appear here at once.");
    this.openList = element("ul", { class: "open", "aria-labelledby": "open" });
    this.noneOpen = element("p", { class: "none", hidden: true }, "No race is waiting for a player. ", element("a", { href: "/play" }, "Open one"), ".");
    this.here = element("p", { class: "here" });
    this.tournaments = new TournamentList("Tournaments");
    this.node = element("div", { class: "lobby" },
      element("h1", {}, "Races"), this.summary,
      element("div", { class: "welcome" }, element("p", { class: "flourish" }, cardFaces(["AS", "KH", "QD", "JC", "TS"])),
        element("p", {}, "The same shuffle, two tables: the first to bring every card home wins."), element("a", { class: "main-link", href: "/play" }, "Play")),
      this.tournaments.node, this.filter, this.filtered,
      section("running", "Running", this.noneRunning, this.runningNote, this.runningList),
      section("open", "Open to join", this.noneOpen, this.openNote, this.openList),
      section("here", "Here now", this.here));
    setInterval(() => this.#tick(), 1000);
    this.#rules = byId(firstKnown()?.rules ?? []);
    this.#showFirst();
  }

  /** As a document, which is asked for with the modules: the connection to the server is some round trips away. */
  async #showFirst() {
    try {
      const answered = await fetch("/races.json");
      const lobby = await answered.json();
      if (answered.ok && !this.#model) this.hear(lobby);
    } catch {
      // The connection tells of it, or that there is none.
    }
  }

  /** @param {import("carpet-wire").Welcome} welcome */
  up(welcome) {
    this.#rules = byId(welcome.rules);
    const chosen = this.game.value;
    this.game.replaceChildren(element("option", { value: "" }, "any"), ...welcome.rules.map((rules) => element("option", { value: rules.id }, clean(rules.name))));
    this.game.value = this.#rules.has(chosen) ? chosen : "";
  }

  /** What is asked for together with hello: the answer comes a round trip earlier. @returns {import("carpet-wire").ClientMessage[]} */
  asks() {
    return [{ type: "follow-lobby", changes: true }, { type: "follow-tournaments" }];
  }

  /** @param {import("carpet-wire").ServerMessage} message */
  hear(message) {
    const now = performance.now();
    if (message.type === "tournaments") {
      this.tournaments.show(message.tournaments, this.#rules);
      this.#titles = new Map(message.tournaments.map(({ id, name }) => [id, name]));
      if (this.#model) this.#show(this.#model);
    }
    if (message.type === "lobby") this.#model = this.#model?.replace(message, now) ?? new LobbyModel(message, now);
    else if (message.type === "lobby-changes" && this.#model) this.#model.apply(message, now);
    else return;
    this.#show(this.#model);
  }

  #show(model) {
    const seeking = model.seeking ? `, ${model.seeking} looking for an opponent` : "";
    const counts = `${counted(model.racesRunning, "race")} running, ${model.racesOpen} open, ${counted(model.playersHere, "player")} here${seeking}.`;
    setText(this.summary, counts);
    if (this.#counts && counts !== this.#counts) announce(counts, { isCount: true });
    this.#counts = counts;
    const [running, open] = [[...model.running.values()], [...model.races.values()]];
    this.noneRunning.hidden = running.length > 0;
    this.noneOpen.hidden = open.length > 0;
    // What is listed stays where it is: only the closest is moved to the front.
    const first = model.running.get(model.closest);
    this.#keep(this.#running, this.runningList, first ? [first, ...running.filter((info) => info !== first)] : running, () => new RunningRace());
    for (const [code, race] of this.#running) race.isClosest(code === model.closest && running.length > 1);
    this.#keep(this.#open, this.openList, open, () => new OpenRace());
    shownOf(this.openNote, open.length, model.racesOpen);
    // Those that are not public are counted as well.
    shownOf(this.runningNote, running.length, running.length < LISTED ? running.length : model.racesRunning);
    this.filter.hidden = running.length + open.length < FILTERED && !this.#isFiltered;
    this.#filter();
    this.#showPlayers(model.players, model.ratings, model.playersHere);
    this.#tick();
  }

  get #isFiltered() {
    return Boolean(this.search.value.trim() || this.game.value || this.rating.value);
  }

  #keep(known, list, infos, make) {
    showEach(known, list, infos, (info) => info.code, make, (race, info) => race.show(info, this.#rules.get(info.rules), this.#titles.get(info.tournament)));
  }

  #sift() {
    this.#filter();
    announce(this.filtered.textContent, { isCount: true });
  }

  #filter() {
    const words = this.search.value.trim().toLocaleLowerCase();
    const races = [...this.#running.values(), ...this.#open.values()];
    for (const race of races) {
      const { rules, ratings } = race.about;
      race.node.hidden = !race.words.includes(words) || (this.game.value !== "" && rules !== this.game.value)
        || (this.rating.value !== "" && !ratings.some((rating) => rating !== null && rating >= Number(this.rating.value)));
    }
    const shown = races.filter((race) => !race.node.hidden).length;
    setText(this.filtered, this.#isFiltered ? `${shown} of the ${races.length} races listed here match.` : "");
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
    for (const race of this.#running.values()) race.tick();
  }
}

/** "100 of 1,001 shown", where not all are. */
function shownOf(node, shown, all) {
  node.hidden = shown >= all;
  setText(node, `${shown} of ${all.toLocaleString("en")} shown.`);
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
    this.round = element("a", {});
    this.roundLine = element("p", { class: "facts", hidden: true }, this.round);
    this.node = element("li", {}, element("article", {}, element("h3", {}, this.link, " ", this.badge), this.facts, this.roundLine, this.seats));
  }

  isClosest(is) {
    this.badge.hidden = !is;
    this.node.classList.toggle("closest", is);
  }

  /** title: of the tournament whose table it is, if it is known. */
  show(info, rules, title) {
    const names = info.seats.map((seat) => seat.name);
    const ratings = info.seats.map((seat) => seat.rating);
    this.words = [...names, rules?.name ?? "", info.rules].join(" ").toLocaleLowerCase();
    this.about = { rules: info.rules, ratings };
    if (!this.#info || names.join("\n") !== this.#info.seats.map((seat) => seat.name).join("\n")) {
      this.link.replaceChildren(...against(names, ratings));
      this.link.setAttribute("href", `/watch/${encodeURIComponent(info.code)}`);
      this.#bars = info.seats.map((seat, number) => bar(number));
      this.seats.replaceChildren(...this.#bars.map((each) => each.node));
    }
    this.#info = info;
    this.roundLine.hidden = !info.tournament;
    setText(this.round, title ? clean(title) : "Its tournament");
    if (info.tournament) this.round.setAttribute("href", `/tournament/${encodeURIComponent(info.tournament)}`);
    this.rulesName = clean(rules?.name ?? info.rules);
    const cards = cardsOf(rules);
    info.seats.forEach((seat, number) =>
      this.#bars[number].show({ name: seat.name, bot: seat.bot, home: seat.home, cards, word: STATE_WORDS[seat.state] ?? "" }));
  }

  tick() {
    const { elapsed_ms: elapsed, time_limit_s: limit, watchers, heardAt } = this.#info;
    const clock = clockText(Math.min(elapsed + performance.now() - heardAt, limit * 1000));
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
    this.copy = button("Copy", () => copyText(this.copy, this.command));
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
    this.about = { rules: info.rules, ratings: info.ratings };
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
