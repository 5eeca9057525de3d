// The pages at `/screen` and `/tournament/ID/screen`, for a projector or a stream: nothing to press, everything large. What is shown when, `showing.js` says.

import { bar } from "./bars.js";
import { BoardView } from "./boards.js";
import { arrange, button, capitalised, clean, clockText, counted, element, fill, inHash, listed, nameOf, setText } from "./dom.js";
import { WatchedRace, byId, cardsOf, holds, standing } from "./model.js";
import { Plot } from "./plot.js";
import { REPLAY_MS, Replay } from "./replaying.js";
import { Field, joinNodes, missing, otherTables, pairingNodes, standingsNodes, treeNodes } from "./scenes.js";
import { seriesSentence } from "./series.js";
import { RESULT_MS, Rotation, clockOf, closestTables, partsOf, replayOf } from "./showing.js";
import { read } from "./tables.js";
import { Followed, formatWord, seatsIn, winners } from "./tournaments.js";

const TICK_MS = 250;
const QUIET_MS = 4000;
const AGAIN_MS = 5000;
/** More boards than that would be read by nobody from afar. */
const BOARDS = 4;
const OTHERS = 8;

export class ScreenPage {
  #rules = new Map();
  #followed = new Followed();
  #listed = [];
  #races = new Rotation();
  #parts = new Rotation(9, 0);
  #model = null;
  #watched = null;
  #askedAt = 0;
  #shownRace = "";
  #document = null;
  #documentOf = "";
  #replay = null;
  #table = { code: "", name: "" };
  #quietAt = 0;
  /** The host's or director's, of an address that ends in `#key=…`. */
  #key = inHash("key") ?? "";

  get #told() {
    return this.#followed.told;
  }

  /** id: of a tournament; null for whatever is run here. @param {import("./connection.js").Connection} connection @param {string | null} id */
  constructor(connection, id) {
    this.connection = connection;
    this.id = id?.toUpperCase() ?? null;
    document.title = "On a big screen · Carpet Race";
    document.body.classList.add("screen");
    document.body.classList.toggle("overlay", new URLSearchParams(location.search).get("overlay") === "1");
    this.heading = element("h1", {}, "Carpet Race");
    this.facts = element("p", { class: "facts" });
    this.clock = element("p", { class: "clock", role: "timer", "aria-label": "Time", hidden: true });
    this.bars = element("div", { class: "screen-bars" });
    this.boards = element("div", { class: "screen-boards" });
    this.plot = new Plot();
    this.why = element("p", { class: "note", hidden: true });
    this.banner = element("div", { class: "banner", hidden: true });
    this.race = element("section", { class: "screen-race", "aria-label": "The race" }, this.bars, this.boards, this.plot.node);
    this.standings = element("section", { class: "screen-standings", "aria-label": "Standings" });
    this.field = new Field();
    this.bracket = element("section", { class: "screen-bracket", "aria-label": "Bracket" });
    this.tables = element("section", { class: "screen-tables", "aria-label": "Tables" });
    this.join = element("section", { class: "screen-join", "aria-label": "How to join" });
    this.stage = element("div", { class: "stage" });
    this.others = element("ul", { class: "others", "aria-label": "Other races" });
    this.onButton = button("Go on (n)", () => this.#goOn());
    this.stayButton = button("Stay (s)", () => this.#stay());
    this.wholeButton = button("Full screen (f)", () => this.#fullScreen());
    this.controls = element("p", { class: "screen-controls" }, this.onButton, this.stayButton, this.wholeButton, element("a", { href: this.id ? `/tournament/${encodeURIComponent(this.id)}` : "/" }, "Back to the page"));
    const foot = element("div", { class: "screen-foot" }, this.why, this.others, this.controls);
    this.node = element("div", { class: "screen-page" }, element("div", { class: "title" }, element("div", {}, this.heading, this.facts), this.clock), this.stage, this.banner, foot);
    // How many lines the other races take depends on their names: a board is as much lower.
    new ResizeObserver(() => this.node.style.setProperty("--foot", `${foot.offsetHeight}px`)).observe(foot);
    addEventListener("keydown", (event) => this.#pressed(event));
    addEventListener("pointermove", () => this.#wake());
    addEventListener("hashchange", () => {
      this.#key = inHash("key") ?? "";
      this.#watched = null;
    });
    this.#wake();
    // A screen that nobody touches would go dark; where the page may not ask, its owner has to see to it.
    const keepAwake = () => document.visibilityState === "visible" && navigator.wakeLock?.request("screen").catch(() => {});
    document.addEventListener("visibilitychange", keepAwake);
    keepAwake();
    setInterval(() => this.#show(), TICK_MS);
  }

  /** @param {import("carpet-wire").Welcome} welcome */
  up(welcome) {
    this.#rules = byId(welcome.rules);
    this.connection.send(this.id ? { type: "follow-tournament", id: this.id.slice(0, 16) } : { type: "follow-lobby" });
    this.#watched = null;
    this.#show();
  }

  /** @param {import("carpet-wire").ServerMessage} message */
  hear(message) {
    const now = performance.now();
    switch (message.type) {
      case "tournament":
        this.#followed.take(message, now);
        this.#readDocument();
        break;
      case "lobby":
        this.#listed = message.running;
        break;
      case "watched":
        if (message.room.code !== this.#watched) return;
        this.#model = new WatchedRace(message, now, this.#model);
        break;
      case "watched-event":
        if (message.code !== this.#model?.code || message.code !== this.#watched) return;
        if (!this.#model.apply(message.event, now)) this.#watched = null;
        break;
      case "board":
        if (message.code === this.#model?.code) this.#model.takeBoard(message);
        break;
      case "unwatched":
      case "error":
        if (holds(message)) {
          this.#followed.hold(message.message, now);
          this.#model?.hold(message.message, now);
        }
        // The next tick chooses another race. A key that is refused is from before the server was started again.
        if (message.code === "watch/wrong-key") this.#key = "";
        if (["watch/too-often", "watch/wrong-key"].includes(message.code)) this.#watched = null;
        else if (!this.#isResultShown() && (message.type === "unwatched" || String(message.code).startsWith("room/"))) this.#races.end(now, 0);
        break;
      default:
        return;
    }
    this.#show();
  }

  /** All rounds, for bracket and replay: read when a round begins or ends. */
  async #readDocument() {
    const of = JSON.stringify([this.#told.rounds.map((round) => round.open === 0), this.#told.phase]);
    if (!this.#told.rounds.length || of === this.#documentOf) return;
    this.#documentOf = of;
    try {
      // One that is a second old may be that of before the round's end, and nothing more may be told for a while.
      this.#document = await read(`/tournaments/${encodeURIComponent(this.id)}.json`, { cache: "no-cache" });
    } catch {
      this.#documentOf = "";
    }
  }

  // ---- what the keys do

  #pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    this.#wake();
    const act = { n: () => this.#goOn(), ArrowRight: () => this.#goOn(), s: () => this.#stay(), f: () => this.#fullScreen() }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  #goOn() {
    const now = performance.now();
    const parts = this.#partNames();
    // Both, the part that is shown and the race in it, have one that comes next.
    if (this.#parts.shown !== "race" || parts.length > 1) this.#parts.next(parts, now);
    else this.#races.next(this.#codes(), now);
    this.#show();
  }

  #stay() {
    const rotation = this.#parts.shown === "race" ? this.#races : this.#parts;
    rotation.isHeld = !rotation.isHeld;
    this.#show();
  }

  #fullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else document.documentElement.requestFullscreen?.().catch(() => {});
  }

  /** What is for whoever stands beside it shows for a moment. */
  #wake() {
    this.#quietAt = performance.now() + QUIET_MS;
    this.controls.classList.remove("is-quiet");
  }

  // ---- what is shown

  #codes() {
    // Of a session all are shown at once.
    if (this.#told?.options.format === "session") return [];
    return this.id ? closestTables(this.#told?.tables ?? []).map((table) => table.code) : this.#listed.map((race) => race.code);
  }

  #partNames() {
    const { shown } = this.#races;
    if (this.#isResultShown() || (shown !== null && !this.#codes().includes(shown))) return ["race"];
    if (!this.id) return this.#listed.length ? ["race"] : ["join"];
    if (!this.#told) return [];
    return partsOf(this.#told, this.#replayed() !== null);
  }

  #isResultShown() {
    return this.#races.shown !== null && this.#model?.code === this.#races.shown && this.#model.finished !== null;
  }

  /** What is worth a replay of the last round that is over. */
  #replayed() {
    const over = (this.#document?.rounds ?? []).filter((round) => round.secret !== null);
    return over.length ? replayOf(over.at(-1).tables, this.#told.options.format) : null;
  }

  #show() {
    const now = performance.now();
    this.controls.classList.toggle("is-quiet", now > this.#quietAt);
    const race = this.#races.pick(this.#codes(), now);
    if (race !== null && race !== this.#watched && (now - this.#askedAt > AGAIN_MS || this.#watched !== null || !this.#askedAt)) this.#watch(race, now);
    if (this.#isResultShown()) this.#races.end(now);
    const names = this.#partNames();
    const part = this.#parts.pick(names, now, this.#parts.shown === "replay" ? REPLAY_MS + RESULT_MS : undefined);
    this.onButton.hidden = this.stayButton.hidden = names.length < 2 && this.#codes().length < 2;
    const held = (part === "race" ? this.#races : this.#parts).isHeld;
    this.stayButton.setAttribute("aria-pressed", String(held));
    this.#showHead(now);
    const shown = { race: this.race, field: this.field.node, standings: this.standings, bracket: this.bracket, tables: this.tables, join: this.join, replay: this.race }[part];
    arrange(this.stage, shown ? [shown] : []);
    this.stage.dataset.part = part ?? "";
    if (part !== "replay") this.#replay = null;
    if (shown !== this.race) this.why.hidden = true;
    this.#draw(part, now);
    this.#showBanner(part);
    this.#showOthers(part);
  }

  #draw(part, now) {
    const told = this.#told;
    const since = this.#followed.since(now);
    switch (part) {
      case "race":
        return this.#showRace(now);
      case "replay":
        return this.#showReplay(now);
      case "field":
        return this.field.show(told, cardsOf(this.#rules.get(told.options.rules)), since);
      case "standings":
        return fill(this.standings, [told.standings, this.#document?.log.length], () => standingsNodes(told, this.#document));
      case "bracket":
        return fill(this.bracket, [told.rounds, told.tables, this.#document?.log.length], () => treeNodes(told, this.#document));
      case "tables":
        return fill(this.tables, told.tables.map((table) => [table.table, table.result, table.sides.map((side) => side.present || missing(table, since))]), () => pairingNodes(told, since));
      case "join":
        return fill(this.join, told && [told.phase, told.entrants.map(({ name, checked_in, withdrawn }) => [name, checked_in, withdrawn])], () => joinNodes(told, this.id));
    }
  }

  #watch(code, now) {
    this.#watched = code;
    this.#askedAt = now;
    this.connection.send({ type: "watch-race", code, key: this.#key });
  }

  #showHead(now) {
    const told = this.#told;
    const since = this.#followed.since(now);
    if (told) {
      if (this.heading.textContent !== clean(told.options.name)) this.heading.replaceChildren(nameOf(told.options.name));
      document.title = clean(told.options.name);
      setText(this.facts, `${this.#followed.sentence(now)} ${capitalised(formatWord(told.options))}, ${clean(this.#rules.get(told.options.rules)?.name ?? told.options.rules)}.`);
    }
    const clock = told ? clockOf(told, since) : null;
    const model = this.#parts.shown === "race" ? this.#model : null;
    const limit = model ? model.options.time_limit_s * 1000 : 0;
    const ms = model && model.startedAt !== null ? Math.min(model.elapsed(now), limit) : clock?.ms ?? null;
    this.clock.hidden = ms === null;
    if (ms !== null) setText(this.clock, clock?.isLeft ? clockText(ms) : `${clockText(ms)} / ${clockText(limit || (told?.options.time_limit_s ?? 0) * 1000)}`);
    if (!told && model) setText(this.facts, [clean(model.heldBecause), clean(this.#rules.get(model.options.rules)?.name ?? ""), model.series ? seriesSentence(model.series, model.phase) : ""].filter(Boolean).join(" · "));
    else if (!told) setText(this.facts, "");
  }

  #showRace(now) {
    const model = this.#model;
    if (!model || model.code !== this.#races.shown) return;
    const rules = this.#rules.get(model.options.rules);
    const cards = cardsOf(rules);
    const seats = seatsIn(this.#told, model.seats);
    this.#begin(`${model.code} ${model.race} ${seats.map((seat) => seat.name)}`, rules, seats);
    const hasBoards = model.boards.size > 0 && seats.length <= BOARDS;
    seats.forEach((seat, at) => {
      this.seatBars[at].show({ ...seat, cards, word: standing(seat, model.phase, seats) });
      this.seatBoards[at]?.show(model.boards.get(at), "");
    });
    this.boards.hidden = !hasBoards;
    this.plot.node.hidden = hasBoards;
    if (!hasBoards) {
      const live = new Set(seats.filter((seat) => seat.state === "racing").map((seat) => seat.seat));
      this.plot.show(model.curves, model.elapsed(now), cards, `Cards home over time: ${seats.map((seat) => `${clean(seat.name)} ${seat.home}`).join(", ")}.`, live);
    }
    this.why.hidden = model.phase === "over" || model.options.delay_s === 0 && !model.isWithheld;
    setText(this.why, model.isWithheld && hasBoards ? "All boards are shown, with the director’s key." : model.isWithheld ? "Everybody plays the same shuffle, so no board is shown before the round is over."
      : `Boards are shown ${counted(model.options.delay_s, "second")} late.`);
  }

  /** Makes bars and boards for the seats of a race, if it is not the one shown before. */
  #begin(race, rules, seats) {
    if (race === this.#shownRace) return;
    this.#shownRace = race;
    this.seatBars = seats.map((seat, at) => bar(at));
    this.seatBoards = rules ? seats.map((seat) => new BoardView(rules, seat.name ?? "open seat")) : [];
    this.bars.replaceChildren(...this.seatBars.map((each) => each.node));
    this.boards.replaceChildren(...this.seatBoards.map((each) => each.node));
    this.race.classList.toggle("many", seats.length > BOARDS);
    this.race.style.setProperty("--seats", String(Math.min(seats.length, 4)));
    this.race.style.setProperty("--lines", String(Math.ceil(seats.length / 4)));
    this.race.style.setProperty("--columns", String(rules?.columns ?? 5));
    // In the height of a line of cards: the layout, its letters, and what stands around it.
    this.race.style.setProperty("--rows", String((rules?.rows ?? 4) + (rules?.reserves ? 1 : 0)));
  }

  #showBanner(part) {
    const model = this.#model;
    const told = this.#told;
    let lines = null;
    if (part === "race" && this.#isResultShown()) {
      const seats = seatsIn(told, model.finished.seats);
      const best = seats.filter((seat) => seat.place === 1);
      const names = best.map((seat) => clean(seat.name));
      // With as many cards home the earlier moment has decided.
      const isByTime = best.length === 1 && seats.some((seat) => seat.place > 1 && seat.home === best[0].home && seat.state !== "forfeited");
      const homes = seats.map((seat) => `${clean(seat.name)} ${seat.home}${isByTime && seat.home === best[0].home ? ` at ${clockText(seat.home_at_ms, true)}` : ""}`).join(" · ");
      lines = [names.length === 1 ? `${names[0]} wins` : `${listed(names)}: a draw`, `Cards home: ${homes}`];
    } else if (told?.phase === "over" && part === "standings") {
      const first = winners(told);
      if (first.length) lines = [`${listed(first)} ${first.length === 1 ? "wins" : "win"}`, clean(told.options.name)];
    }
    this.banner.hidden = lines === null;
    if (lines) fill(this.banner, lines, () => [element("p", { class: "winner" }, element("bdi", {}, lines[0])), element("p", {}, element("bdi", {}, lines[1]))]);
  }

  // ---- the closest table of the last round, as it went

  #showReplay(now) {
    const of = this.#replayed();
    if (!of) return;
    if (String(this.#replay?.races) !== String(of.races)) {
      const replay = new Replay(of, () => {
        // It is asked for again with its next turn.
        if (this.#replay === replay) this.#replay = null;
        this.#parts.end(performance.now(), 0);
      });
      this.#replay = replay;
    }
    if (!this.#replay.isThere) return;
    const { race, races } = this.#replay;
    this.#begin(`replay ${races}`, race.rules, race.seats);
    this.#replay.show(now, this.seatBars, this.seatBoards, this.why);
    this.boards.hidden = this.why.hidden = false;
    this.plot.node.hidden = true;
  }

  /** The other races, so that everybody finds their own. */
  #showOthers(part) {
    const nameOfTable = ({ table, race }) => `${this.#told.round} ${table} ${race}`;
    // A table that has its result is told without a code, while its race is still shown.
    const own = this.#told?.tables.find((table) => table.code !== null && table.code === this.#races.shown);
    if (own) this.#table = { code: own.code, name: nameOfTable(own) };
    const isShown = (table) => this.#table.code === this.#races.shown && this.#table.name === nameOfTable(table);
    const lines = part !== "race" ? [] : this.id ? otherTables(this.#told, isShown)
      : this.#listed.filter((race) => race.code !== this.#races.shown && race.seats.length === 2).map(({ seats: [one, other] }) => [one.name, `${one.home} : ${other.home}`, other.name]);
    const shown = lines.slice(0, OTHERS);
    this.others.hidden = !lines.length;
    fill(this.others, shown, () => shown.map(([one, score, other, decided]) => element("li", {}, nameOf(one), element("b", {}, ` ${score} `), nameOf(other), decided)));
  }
}
