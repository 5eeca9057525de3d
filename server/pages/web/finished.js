// The page at `/race/ID`: a race that is over. Places, curves, and all boards on one time line to play, step and jump through.

import { bar } from "./bars.js";
import { BoardView } from "./boards.js";
import { against, againstText, button, clean, clockText, counted, element, firstKnown, homeText, nameOf, ratingChange, seatTitle, section, setText } from "./dom.js";
import { checkNodes } from "./ending.js";
import { checks, commitmentOfRounds, entryChecks, verdict } from "./fairness.js";
import { entries, proofs } from "./identity.js";
import { endWord } from "./model.js";
import { Plot } from "./plot.js";
import { Refused, read } from "./tables.js";
import { showSeats, Timeline } from "./timeline.js";

const SPEEDS = [1, 2, 5, 10, 30];

export class FinishedPage {
  #timeline = null;
  #made = 0;
  #ms = 0;
  #playing = null;

  /** @param {string} id of the race */
  constructor(id) {
    this.id = id;
    this.heading = element("h1", {}, "Looking for the race …");
    this.facts = element("p", { class: "facts" });
    this.places = element("ol", { class: "places" });
    this.plot = new Plot();
    this.barList = element("div", { class: "bars" });
    this.boardList = element("div", { class: "boards" });
    this.play = button("Play", () => this.#switch());
    this.slider = element("input", { type: "range", min: "0", step: "1", value: "0", "aria-label": "Move" });
    this.slider.addEventListener("input", () => this.#go(Number(this.slider.value)));
    this.clock = element("span", { class: "clock" });
    this.speed = element("select", { "aria-label": "Speed" }, SPEEDS.map((speed) => element("option", { value: String(speed) }, `${speed} ×`)));
    this.speed.value = "5";
    this.parting = button("Where they diverge", () => this.#go(this.#timeline.parting));
    this.said = element("p", { class: "said-move", role: "status" });
    this.verdict = element("p", { class: "verdict" });
    this.checks = element("ul", { class: "checks" });
    this.record = element("a", { href: `/races/${encodeURIComponent(id)}.json` }, "The record, as JSON");
    const controls = element("div", { class: "controls", role: "group", "aria-label": "Replay" },
      element("p", { class: "actions" }, button("Start", () => this.#go(0)), button("Previous", () => this.#go(this.#made - 1)), this.play, button("Next", () => this.#go(this.#made + 1)),
        button("End", () => this.#go(this.#timeline.steps.length)), this.parting, element("label", {}, "Speed ", this.speed), this.clock), this.slider, this.said);
    this.reviews = element("div", { class: "reviews" });
    this.reviewPart = section("review", "What was possible", this.reviews);
    this.reviewPart.hidden = true;
    this.body = element("div", { class: "finished race", hidden: true },
      element("div", { class: "columns" },
        element("div", {},
          section("result", "Result", this.places, this.barList),
          section("curves", "Cards home over time", this.plot.node)),
        section("boards", "Replay", controls, this.boardList)),
      this.reviewPart,
      section("check", "Check", this.verdict, this.checks, element("p", { class: "checked" }, this.record,
        element("span", { class: "note" }, ` · carpet verify and carpet replay take it too`))));
    this.node = element("div", {}, element("div", { class: "title" }, element("div", {}, this.heading, this.facts)), this.body);
    addEventListener("keydown", (event) => this.#key(event));
    this.#load();
  }

  up() {}

  hear() {}

  async #load() {
    try {
      const address = `/races/${encodeURIComponent(this.id)}`;
      const [record, boards] = await Promise.all([read(`${address}.json`), read(`${address}/boards.json`)]);
      this.#show(record, boards);
    } catch (error) {
      this.heading.textContent = "A race";
      setText(this.facts, error instanceof Refused ? clean(error.message) : "The race could not be read. Try again in a moment.");
    }
  }

  #show(record, boards) {
    const { rules } = boards;
    const { seats } = record;
    const names = seats.map(seatTitle);
    this.heading.replaceChildren(...against(names));
    document.title = `${againstText(names)} · Carpet Race`;
    const day = new Date(record.started_at_ms);
    setText(this.facts, [rules.name, `${day.toLocaleDateString()} ${day.toLocaleTimeString([], { timeStyle: "short" })}`, record.rated ? "rated" : "", record.deal.name ? `deal “${clean(record.deal.name)}”` : ""].filter(Boolean).join(" · "));
    const order = seats.map((seat, number) => ({ ...seat, number })).sort((one, other) => one.place - other.place);
    const ratings = firstKnown()?.ratings ?? [];
    this.places.replaceChildren(...order.map((seat) => element("li", { value: String(seat.place) },
      seat.bot ? nameOf(seat.name) : element("a", { href: `/player/${encodeURIComponent(seat.name)}` }, nameOf(seat.name)),
      `${seat.bot ? " (bot)" : ""}: ${homeText(seat)} · ${endWord(seat, seats)}`, ...ratingChange(ratings[seat.number]))));
    this.#timeline = new Timeline(boards, record.ended_at_ms);
    this.cards = rules.decks * 52;
    this.bars = seats.map((seat, number) => bar(number));
    this.barList.replaceChildren(...this.bars.map((each) => each.node));
    this.boards = seats.map((seat) => new BoardView(rules, seat.name));
    this.boardList.replaceChildren(...this.boards.map((each) => each.node));
    this.boardList.style.setProperty("--columns", String(rules.columns));
    this.slider.max = String(this.#timeline.steps.length);
    this.parting.hidden = record.series?.format === "swap" || this.#timeline.parting === null;
    this.seats = seats;
    const curves = new Map(seats.map((seat, number) => [number, [[0, boards.firsts[number].home]]]));
    for (const step of this.#timeline.steps) curves.get(step.seat).push([step.at_ms, step.home]);
    seats.forEach((seat, number) => curves.get(number).push([seat.ended_at_ms, seat.home]));
    this.#check(record, rules.decks);
    this.body.hidden = false;
    this.plot.show(curves, this.#timeline.end, this.cards, `Cards home over time. ${order.map((seat) => `${clean(seat.name)} ${seat.home}`).join(", ")}.`, new Set());
    if (rules.decks === 1) this.#readReview();
    const asked = Number(new URLSearchParams(location.search).get("step") ?? NaN);
    this.#go(Number.isInteger(asked) ? asked : this.#timeline.steps.length);
  }

  /** What each of them could have done, where the server knows for certain. */
  async #readReview() {
    const { seats } = await read(`/races/${encodeURIComponent(this.id)}/review.json`).catch(() => ({ seats: [] }));
    this.reviewPart.hidden = seats.length === 0;
    this.reviews.replaceChildren(...seats.flatMap(({ seat, slip, sentences }) => {
      const name = clean(this.seats[seat].name);
      const at = this.#timeline.steps.findIndex((step) => step.seat === seat && step.ply === slip);
      const go = at < 0 ? null : button(`Go to move ${slip} of ${name}`, () => this.#go(at + 1));
      return [element("h3", {}, nameOf(name)), element("p", {}, clean(sentences.join(" "))), go && element("p", { class: "actions" }, go)].filter(Boolean);
    }));
  }

  /** Whether the deal was fair: by all that its player saw where they race by this browser, else by what the record says of itself. */
  async #check(record, decks) {
    const seen = proofs.of(record);
    const made = checks(record, seen, seen?.seat ?? 0, decks).filter((each) => seen || each.isTrue !== null);
    const { shared } = record.deal;
    const entry = seen && shared?.kind === "round" ? entries.find(shared.id.split("/")[0]) ?? entries.committed(commitmentOfRounds(record)) : null;
    if (entry) made.push(...entryChecks(record, entry, await read(`/tournaments/${encodeURIComponent(entry.id)}.json`).catch(() => null)));
    const whole = seen || made.some((each) => each.isTrue === false) ? verdict(made, record) : { isTrue: true, sentence: "Record and deal fit together." };
    this.verdict.dataset.true = String(whole.isTrue);
    setText(this.verdict, whole.sentence);
    this.checks.replaceChildren(...checkNodes(made));
  }

  #switch() {
    if (this.#playing !== null) return this.#pause();
    if (this.#made >= this.#timeline.steps.length) this.#go(0);
    let before = performance.now();
    this.#playing = setInterval(() => {
      const now = performance.now();
      this.#ms += (now - before) * Number(this.speed.value);
      before = now;
      this.#draw(this.#timeline.stepsBy(this.#ms));
      if (this.#ms >= this.#timeline.end) this.#pause();
    }, 50);
    setText(this.play, "Pause");
  }

  #pause() {
    clearInterval(this.#playing);
    this.#playing = null;
    setText(this.play, "Play");
    this.#draw(this.#made);
  }

  /** @param {number} made steps */
  #go(made) {
    if (!this.#timeline) return;
    const to = Math.min(Math.max(made, 0), this.#timeline.steps.length);
    // Behind the last move comes how each of them ended.
    this.#ms = to === this.#timeline.steps.length ? this.#timeline.end : to === 0 ? 0 : this.#timeline.steps[to - 1].at_ms;
    this.#draw(to);
  }

  #draw(made) {
    this.#made = made;
    const steps = this.#timeline.steps;
    this.slider.value = String(made);
    setText(this.clock, `${clockText(this.#ms, true)} / ${clockText(this.#timeline.end, true)}`);
    const last = steps[made - 1];
    const text = last ? `Move ${made} of ${steps.length}: ${clean(this.seats[last.seat].name)} plays ${last.move}.` : `The deal, before ${counted(steps.length, "move")}.`;
    // While it plays nobody wants each of them read out.
    if (this.#playing === null) setText(this.said, text);
    showSeats(this.#timeline, this.seats, this.bars, this.boards, this.cards, this.#ms, made);
  }

  #key(event) {
    if (!this.#timeline || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select")) return;
    if (event.key === " " && event.target.closest("button, a, summary")) return;
    const act = {
      ArrowLeft: () => this.#go(this.#made - 1), ArrowRight: () => this.#go(this.#made + 1), Home: () => this.#go(0),
      End: () => this.#go(this.#timeline.steps.length), " ": () => this.#switch(),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}
