// The page at `/watch/CODE`: how far everybody is, the boards as late as the race says, the curves, the result, and what is said.

import { bar } from "./bars.js";
import { BoardView } from "./boards.js";
import { against, againstText, announce, arrange, clean, clockText, counted, element, fill, firstKnown, homeText, inHash, nameOf, ratingChange, seatTitle, section, setText } from "./dom.js";
import { serverAddress, watcherHello } from "./connection.js";
import { identity } from "./identity.js";
import { WatchedRace, byId, cardsOf, endWord, holds, standing } from "./model.js";
import { Plot } from "./plot.js";
import { SeriesView, seriesSentence } from "./series.js";

const ASK_AGAIN_MS = 5000;

export class RacePage {
  #rules = new Map();
  #model = null;
  #bars = [];
  #boards = [];
  #shownRace = "";
  #shownLines = null;
  #askedAt = -ASK_AGAIN_MS;
  #frame = null;

  /** code: of a race; null for the closest one. */
  constructor(connection, code) {
    this.connection = connection;
    this.code = code;
    document.title = "Carpet Race";
    this.heading = element("h1", {}, "Looking for the race …");
    this.facts = element("p", { class: "facts" });
    this.round = element("a", {}, "To its tournament");
    this.roundLine = element("p", { class: "facts", hidden: true }, this.round);
    this.clock = element("p", { class: "clock", role: "timer", "aria-label": "Time", hidden: true });
    this.seat = element("a", { class: "main-link" }, "Back to your seat");
    this.seatLine = element("p", { class: "actions", hidden: true }, this.seat);
    this.notice = element("p", { class: "notice", hidden: true });
    this.results = element("ol", { class: "places" });
    this.recordLink = element("a", {}, "The record of this race, as JSON");
    this.replayLink = element("a", {}, "Replay it");
    this.resultText = element("p", { class: "checked" }, this.replayLink, " · ", this.recordLink);
    this.resultTitle = element("h2", { id: "result" }, "Result");
    this.result = element("section", { "aria-labelledby": "result" }, this.resultTitle, this.results, this.resultText);
    this.series = new SeriesView();
    this.seriesPart = section("series", "Series", this.series.node);
    this.barList = element("div", { class: "bars" });
    this.boardList = element("div", { class: "boards" });
    this.plot = new Plot();
    this.curves = section("curves", "Cards home over time", this.plot.node);
    this.lineList = element("ul", { class: "lines" });
    this.said = section("said", "What is said", this.lineList);
    this.body = element("div", { class: "race", hidden: true }, this.result, this.seriesPart,
      element("div", { class: "columns" },
        element("div", {}, section("far", "How far they are", this.barList), this.curves),
        section("boards", "Boards", this.notice, this.boardList)),
      this.said);
    this.node = element("div", {}, element("div", { class: "title" }, element("div", {}, this.heading, this.facts, this.roundLine), this.clock), this.seatLine, this.body);
    setInterval(() => this.#model && this.#tick(), 250);
    this.#showFirst();
  }

  /** How far everybody was when this document was made: the connection to the server is some round trips away. */
  #showFirst() {
    const first = firstKnown();
    if (!first) return;
    this.heading.replaceChildren(...against(first.seats.map(seatTitle)));
    const bars = first.seats.map((seat) => bar(seat.seat));
    bars.forEach((each, number) => each.show({ ...first.seats[number], cards: first.cards, word: "" }));
    this.barList.replaceChildren(...bars.map((each) => each.node));
    for (const part of [this.result, this.seriesPart, this.curves, this.said]) part.hidden = true;
    this.body.hidden = false;
  }

  /** Who watches as somebody is shown no boards of their own race. @returns {import("carpet-wire").Hello} */
  hello() {
    return watcherHello(identity.token);
  }

  /** @param {import("carpet-wire").Welcome} welcome */
  up(welcome) {
    this.#rules = byId(welcome.rules);
    this.#askedAt = performance.now();
  }

  /** What is asked for together with hello: the answer comes a round trip earlier. @returns {import("carpet-wire").ClientMessage[]} */
  asks() {
    // The host's key, of an address that ends in `#key=…`.
    return [{ type: "watch-race", code: this.code, key: inHash("key") ?? "" }];
  }

  /** @param {import("carpet-wire").ServerMessage} message */
  hear(message) {
    const now = performance.now();
    switch (message.type) {
      case "watched":
        this.#model = new WatchedRace(message, now, this.#model);
        this.#shownLines = null;
        this.seatLine.hidden = true;
        announce(`Watching ${names(this.#model)}.`);
        break;
      case "watched-event":
        if (message.code !== this.#model?.code) return;
        if (!this.#model.apply(message.event, now)) return this.#askAgain(now);
        this.#announce(message.event);
        break;
      case "board":
        if (message.code === this.#model?.code) this.#model.takeBoard(message);
        break;
      case "watchers":
        if (message.code === this.#model?.code) this.#model.takeWatchers(message.count, message.whole);
        break;
      case "talk":
        if (message.code === this.#model?.code) this.#model.takeTalk(message.lines);
        break;
      case "unwatched":
        return message.reason === "seated" ? this.#leadBack(message.code) : this.#ended(message.reason);
      case "error":
        return this.#refused(message, now);
      default:
        return;
    }
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      this.#show();
    });
  }

  #askAgain(now) {
    if (now - this.#askedAt < ASK_AGAIN_MS) return;
    this.#askedAt = now;
    for (const message of this.asks()) this.connection.send(message);
  }

  #ended(reason) {
    const words = {
      none: "No public race is running now. The next one will appear here as soon as it starts.",
      closed: "That race is closed.",
      failed: "The server can no longer show that race.",
    };
    if (reason === "none") this.#model = null;
    this.#say(words[reason] ?? "This race is no longer shown.");
  }

  /** The player of this browser holds a seat in it. */
  #leadBack(code) {
    this.#model = null;
    this.#say("You hold a seat in this race, so its boards are not shown to you.");
    this.seat.setAttribute("href", `/play/${encodeURIComponent(code)}`);
    this.seatLine.hidden = false;
  }

  #refused(error, now) {
    if (holds(error) && this.#model) {
      if (this.#model.heldAt === null) announce(clean(error.message));
      this.#model.hold(error.message, now);
    } else if (error.code === "watch/own-race") {
      this.#leadBack(this.code ?? "");
    } else if (error.code === "watch/too-often") {
      setTimeout(() => this.#askAgain(performance.now()), ASK_AGAIN_MS);
    } else if (error.code === "server/busy") {
      // Nobody has the race for a moment: its server is gone.
      this.#askedAt = -ASK_AGAIN_MS;
      setTimeout(() => this.#askAgain(performance.now()), error.retry_after_ms || ASK_AGAIN_MS);
    } else if (error.code !== "wire/too-fast") {
      this.#say(error.code === "room/no-such-code" ? "No race has that code now. It may be over." : clean(error.message));
    }
  }

  #say(sentence) {
    announce(sentence);
    if (!this.#model) {
      this.heading.textContent = this.code === null ? "The closest race" : `Race ${clean(this.code)}`;
      this.body.hidden = true;
      this.clock.hidden = true;
    }
    setText(this.facts, sentence);
    this.ending = sentence;
  }

  #announce(event) {
    const seat = this.#model.seats[event.seat];
    const word = event.type === "progress" ? endWord(seat, this.#model.seats) : "";
    if (word) announce(`${clean(seat.name)}: ${word}, ${event.home} cards home.`);
    else if (event.type === "progress") announce(this.#standings(), { isCount: true });
    else if (event.type === "started") announce("The race has started.");
    else if (event.type === "countdown") announce("Everybody is ready.");
    else if (event.type === "result") announce(`The race is over. ${placesText(event.record.seats)}`);
    else if (event.type === "ended") announce(`The race is over. ${placesText(event.seats)}`);
    else if (event.type === "room") announce("Another race between them begins.");
    else if (event.type === "scored") announce(seriesSentence(event.series, this.#model.phase));
    else if (event.type === "presence" && !event.connected) announce(`${clean(seat.name)} is away.`);
  }

  #standings() {
    return `${this.#model.seats.filter((seat) => seat.name !== null).map((seat) => `${clean(seat.name)} ${seat.home}`).join(", ")} cards home.`;
  }

  // ---- drawing

  #show() {
    const model = this.#model;
    if (!model) return;
    const rules = this.#rules.get(model.options.rules);
    const race = `${model.code} ${model.race} ${model.seats.map((seat) => seat.name)}`;
    if (race !== this.#shownRace) {
      this.#shownRace = race;
      this.#begin(model, rules);
    }
    this.body.hidden = false;
    this.ending = null;
    const cards = cardsOf(rules);
    model.seats.forEach((seat, number) => this.#bars[number].show({ ...seat, cards, word: standing(seat, model.phase, model.seats) }));
    this.#boards.forEach((view, number) => view.show(model.boards.get(number), this.#whyNoBoard(model)));
    this.#showNotice(model);
    this.#showSeries(model);
    this.#showResult(model);
    this.#showLines(model);
    this.#tick();
  }

  #begin(model, rules) {
    const seated = model.seats.map(seatTitle);
    this.heading.replaceChildren(...against(seated));
    // A round has many tables, and bots of one name at several.
    const round = model.shared?.kind === "round" ? `round ${clean(model.shared.id.split("/")[1])} · ` : "";
    document.title = `${names(model)} · ${round}Carpet Race`;
    this.roundLine.hidden = !model.tournament;
    this.round.setAttribute("href", `/tournament/${encodeURIComponent(model.tournament)}`);
    this.#bars = model.seats.map((seat) => bar(seat.seat));
    this.barList.replaceChildren(...this.#bars.map((each) => each.node));
    this.#boards = rules ? model.seats.map((seat) => new BoardView(rules, seat.name ?? "open seat")) : [];
    this.boardList.replaceChildren(...this.#boards.map((each) => each.node));
    this.boardList.style.setProperty("--columns", String(rules?.columns ?? 5));
  }

  #whyNoBoard(model) {
    if (model.isToBegin) return "No cards before the start.";
    if (model.shared && model.isWithheld) return "No board is shown while others have yet to play this deal.";
    if (model.isWithheld) return "No board is shown of the first race of a swap.";
    if (model.phase === "over") return "No board was shown.";
    return `The first cards are shown ${counted(model.options.delay_s, "second")} after the start.`;
  }

  #showNotice(model) {
    const delay = model.options.delay_s;
    this.notice.hidden = delay === 0 || model.phase === "over" || model.isWithheld;
    setText(this.notice, `Boards are shown ${counted(delay, "second")} late. The bars are not.`);
  }

  #showSeries(model) {
    this.seriesPart.hidden = !model.series;
    if (model.series) this.series.show(model.series, model.phase);
  }

  #showResult(model) {
    const finished = model.finished;
    this.result.hidden = !finished;
    if (!finished) return;
    const { race, id, seats, ratings } = finished;
    setText(this.resultTitle, model.phase === "over" ? "Result" : "Result of the race before");
    const order = seats.map((seat, number) => ({ ...seat, rating: ratings[number] })).sort((one, other) => one.place - other.place);
    fill(this.results, [model.code, race, seats, ratings], () => order.map((seat) => element("li", { value: String(seat.place) },
      nameOf(seat.name), `${seat.bot ? " (bot)" : ""}: ${homeText(seat)} · ${endWord(seat, seats)}`,
      ...ratingChange(seat.rating))));
    this.resultText.hidden = !id;
    if (!id) return;
    this.recordLink.setAttribute("href", `/races/${encodeURIComponent(id)}.json`);
    this.replayLink.setAttribute("href", `/race/${encodeURIComponent(id)}`);
  }

  #showLines(model) {
    this.said.hidden = model.lines.length === 0;
    if (this.#shownLines === model.linesHeard) return;
    this.#shownLines = model.linesHeard;
    arrange(this.lineList, model.lines.map((line) =>
      element("li", { class: line.by }, nameOf(line.name), line.by === "watcher" ? " (watching): " : ": ", element("bdi", {}, clean(line.text)))));
  }

  #tick() {
    const model = this.#model;
    const now = performance.now();
    const rules = this.#rules.get(model.options.rules);
    const elapsed = Math.min(model.elapsed(now), model.options.time_limit_s * 1000);
    const isSoon = model.phase === "countdown" && model.startsAt !== null;
    this.clock.hidden = model.phase === "waiting";
    const limit = clockText(model.options.time_limit_s * 1000);
    setText(this.clock, isSoon ? `starts in ${Math.ceil(model.untilStart(now) / 1000)}` : `${clockText(elapsed)} / ${limit}`);
    const phases = { waiting: "waiting for everybody", countdown: "about to start", racing: "being run", over: "over" };
    const facts = [clean(rules?.name ?? model.options.rules), `code ${clean(model.code)}`, phases[model.phase] ?? "", model.watchersText];
    if (model.options.deal) facts.push(`deal “${clean(model.options.deal)}”`);
    const isHeld = model.heldAt !== null;
    setText(this.facts, this.ending ?? (isHeld ? clean(model.heldBecause) : facts.join(" · ")));
    const last = model.isToBegin ? model.finished : null;
    this.curves.hidden = model.isToBegin && !last;
    if (last) {
      this.plot.show(last.curves, last.end, cardsOf(rules), `Cards home in the race before: ${placesText(last.seats)}`, new Set());
    } else if (!this.curves.hidden) {
      const live = new Set(model.seats.filter((seat) => seat.state === "racing").map((seat) => seat.seat));
      this.plot.show(model.curves, elapsed, cardsOf(rules), `Cards home over time: ${this.#standings()}`, live);
    }
    if (model.phase === "waiting" && !isHeld && model.seats.some((seat) => seat.name === null) && model.options.public) {
      setText(this.facts, `${facts.join(" · ")} · carpet join ${serverAddress()} ${clean(model.code)}`);
    }
  }
}

function names(model) {
  return againstText(model.seats.map(seatTitle));
}

function placesText(seats) {
  return [...seats].sort((one, other) => one.place - other.place)
    .map((seat) => `${seat.place}. ${clean(seat.name)}, ${counted(seat.home, "card")} home.`).join(" ");
}
