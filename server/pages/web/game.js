// A race from its first card to its end, as its player has it before them: their table, everybody's bars, what can be done and by which keys.

import { ask, tell } from "./dialog.js";
import { bar } from "./bars.js";
import { cardTexts } from "./boards.js";
import { QuietTime, button, clean, element, setText } from "./dom.js";
import { Lessons, allHomeKey, hint, isTaught, whyNot } from "./hints.js";
import { KEY_ROWS, Keys } from "./keys.js";
import { OWN_ENDS, STATE_WORDS, cardsOf, endWord, standing } from "./model.js";
import { allFit, chipsOf, goesHome, isWhole, topCard } from "./moves.js";
import { HOME } from "./hand.js";
import { read, write } from "./identity.js";
import { Table } from "./table.js";

/** Who is waited for, after a sentence about one's own end. */
function stillRacing(room) {
  if (!["stalled", "stopped"].includes(room.own.state)) return "";
  const others = room.seats.filter((seat) => seat.seat !== room.seat && seat.state === "racing");
  return others.length ? ` ${others.length === 1 ? `${clean(others[0].name)} is` : `${others.length} others are`} still racing.` : "";
}

const PULSE_MS = 600;
const STILL = "carpet.still";
/** Kept once a race was raced to its end, or whoever is to learn wants no lessons. */
const LEARNED = "carpet.learned";
/** Where a finger presses, there are no keys to tell of, as in the style sheet. */
const TOUCH = matchMedia("(pointer: coarse)");

export class Game {
  #shownRace = "";
  #bars = new Map();
  #plies = new Map();
  #note = "";
  #notedAt = "";
  #hinted = "";
  /** The last position heard of. @type {any} */
  #seen = null;
  #quiet = new QuietTime();
  /** Of a first race, until its player wants no more of them. @type {Lessons | null} */
  #lessons = null;
  /** What they have taught since the page was opened, in whichever race. @type {Set<string>} */
  #learned = new Set();
  /** What had the focus before a move was typed. @type {HTMLElement | null} */
  #typedFrom = null;
  table = null;

  /** talk(): have something said. @param {import("./player.js").Player} player @param {() => void} talk */
  constructor(player, talk) {
    this.player = player;
    const byKey = (text, act, key) => button(text, act, { "aria-keyshortcuts": key });
    this.barList = element("div", { class: "bars" });
    this.place = element("div", {});
    this.hint = element("p", { class: "hint", role: "status" });
    this.told = element("span", { role: "status" });
    this.noLessons = button("Hide", () => this.#stopLessons(), { "aria-label": "Hide the lessons" });
    // It keeps its place to the end of the race, so that nothing moves.
    this.lesson = element("p", { class: "lesson", hidden: true }, this.told, this.noLessons);
    this.turned = element("p", { class: "unseen", role: "status" });
    this.home = byKey("Home", () => this.player.press(HOME), "Space");
    this.all = byKey("All home", () => this.player.sendAllHome(), "Shift+G");
    this.auto = byKey("Auto", () => {
      this.player.turnAutoplay();
      // In one line: a second one would move the button from under the finger.
      this.note(`Autoplay is ${this.player.isAuto ? "on" : "off"}.`);
    }, "Shift+H");
    this.stop = byKey("Stop …", () => this.#stop(), "Shift+K");
    this.resign = byKey("Give up …", () => this.#resign(), "Shift+R");
    this.help = byKey("Keys", () => tell("Keys of a race", KEY_ROWS), "?");
    this.out = byKey("Leave …", () => this.leave(), "Shift+L");
    this.actions = element("p", { class: "actions" }, this.home, this.all, this.auto, this.stop, this.resign, this.help, this.out);
    this.move = element("input", { id: "move", maxlength: "8", autocomplete: "off", autocapitalize: "none", spellcheck: "false", placeholder: "w:b3" });
    this.moveField = element("p", { class: "field inline", hidden: true }, element("label", { for: "move" }, "Move"), this.move);
    this.move.addEventListener("keydown", (event) => this.#typed(event));
    this.move.addEventListener("blur", () => { this.moveField.hidden = true; });
    this.node = element("div", { class: "game" }, this.barList, this.place, this.turned, this.lesson, this.hint, this.moveField, this.actions);
    this.keys = new Keys(player, {
      stop: () => this.#stop(), resign: () => this.#resign(), leave: () => this.leave(), talk, type: () => this.#type(), help: () => tell("Keys of a race", KEY_ROWS),
      motion: () => this.#switchMotion(), suits: () => this.#set("suits"), bell: () => this.#set("bell"), note: (text) => this.note(text),
    });
    addEventListener("keydown", (event) => this.#key(event));
  }

  /** What is to be said of the last press. */
  note(text) {
    this.#note = text;
    this.#notedAt = this.#stage;
    if (this.player.room) this.showHint();
  }

  /** What is said of a press holds no longer than this: a race, its part in it, and a connection or none. */
  get #stage() {
    const { room, isOnline } = this.player;
    return JSON.stringify([room?.code, room?.race, room?.phase, room?.own?.state, isOnline]);
  }

  refuse(place) {
    const { room } = this.player;
    if (place === HOME) return this.note("No card can go home now.");
    if (isWhole(place)) return this.note(`${clean(place)} is not a legal move now.`);
    if ("+-".includes(place)) return this.note("+ and − send a held card home: press its place first.");
    if (room?.view) this.note(whyNot(room.view, this.rules, place));
  }

  /** asked: what was, and is answered with yes. A race may have begun or ended meanwhile: then leaving it has another price, and is asked about anew. */
  leave(asked = "") {
    const { player } = this;
    const racing = player.room?.isRacing;
    const lost = [racing && "be placed last", player.room?.givesUpSeries && "give up the series"].filter(Boolean).join(" and ");
    const question = `Leave ${racing ? "the race" : "this room"}?${lost && ` You will ${lost}.`}`;
    if (question === asked) player.send({ type: "leave-race" });
    else ask(question, ["Leave", "Stay"], () => this.leave(question));
  }

  #stop() {
    this.#end("Stop now? The cards you brought home count.", ["Stop", "Go on racing"], "stop");
  }

  #resign() {
    this.#end("Give up? You will be placed last.", ["Give up", "Go on racing"], "resign");
  }

  #end(text, answers, type) {
    const { room } = this.player;
    if (!room?.isRacing) return this.note("Your part of this race has ended.");
    ask(text, answers, () => this.player.room?.isRacing && this.player.send({ type, race: room.race, seat: room.seat }));
  }

  /** Have a whole move typed. */
  #type() {
    this.#typedFrom = /** @type {HTMLElement | null} */ (document.activeElement);
    this.move.value = "";
    this.moveField.hidden = false;
    this.move.focus();
  }

  #typed(event) {
    if (!["Enter", "Escape"].includes(event.key) || event.isComposing) return;
    event.preventDefault();
    // The keyboard goes on where it was.
    if (this.#typedFrom?.isConnected) this.#typedFrom.focus();
    this.move.blur();
    this.#note = "";
    if (event.key === "Enter") this.player.type(this.move.value);
  }

  #switchMotion() {
    const isStill = !this.table?.isStill;
    write(STILL, String(isStill));
    if (this.table) this.table.isStill = isStill;
    this.note(isStill ? "Cards do not glide." : "Cards glide.");
  }

  /** By a button at the foot of the page, which is not shown in a race. @param {string} id */
  #set(id) {
    const setting = document.getElementById(id);
    setting.click();
    this.note(`${setting.textContent}.`);
  }

  #key(event) {
    const { room } = this.player;
    const target = /** @type {Element} */ (event.target);
    if (!this.table || !room || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]") || target.closest("input, textarea, select")) return;
    if (room.phase !== "racing") return this.#keyTooLate(event, target);
    // A held key would go on after it was let go.
    if (event.repeat && !event.key.startsWith("Arrow")) return event.key === " " ? event.preventDefault() : undefined;
    if (event.key === " " && target.closest("button, a, summary") && !target.closest("[data-place]")) return;
    this.#note = "";
    if (this.keys.take(event.key, this.table)) event.preventDefault();
  }

  /** The race is over, and its player may be in the midst of pressing keys. */
  end() {
    this.#quiet.begin(performance.now());
    write(LEARNED, "yes");
    this.#lessons = null;
    this.lesson.hidden = true;
  }

  #stopLessons() {
    write(LEARNED, "yes");
    this.#lessons = null;
    this.#tell("");
    this.table?.node.querySelector("[tabindex='0']")?.focus();
  }

  #tell(text) {
    setText(this.told, text);
    this.noLessons.hidden = !text;
  }

  /** A key at the result. What was meant for the table would scroll it out of sight, and space does so a whole page at any time. @param {KeyboardEvent} event @param {Element} target */
  #keyTooLate(event, target) {
    const { room } = this.player;
    if (room.phase !== "over" && !room.showsLast) return;
    // With a slash some browsers look for words in the page.
    const isTable = (event.key.length === 1 && event.key !== "/") || event.key === "Enter" || event.key.startsWith("Arrow");
    const isSpace = event.key === " " && !target.closest("button, a, summary");
    if ((isTable && this.#quiet.takes(performance.now())) || isSpace) event.preventDefault();
  }

  /** @param {any} rules a `RulesInfo` */
  show(rules) {
    const { player } = this;
    const { room } = player;
    const race = `${room.code} ${room.race}`;
    if (!room.view) return;
    this.rules = rules;
    if (race !== this.#shownRace || !this.table) {
      this.#shownRace = race;
      this.#seen = null;
      this.#lessons = read(LEARNED) || !isTaught(rules, room) ? null : new Lessons(this.#learned);
      this.lesson.hidden = this.#lessons === null;
      this.table = new Table(rules, room.view, (place) => {
        this.#note = "";
        player.press(place);
      });
      this.table.isStill = read(STILL) === "true";
      this.place.replaceChildren(this.table.node);
      this.#bars.clear();
      this.#plies.clear();
      this.barList.replaceChildren();
      // Ready was further down, on a phone.
      scrollTo(0, 0);
    }
    const view = player.shown;
    this.table.show({ view, chips: chipsOf(player.chips, room.view, player.held).filter((chip) => player.inFlight === null || view.moves.length > 0),
      held: player.held, ahead: player.ahead, isPlaying: room.isRacing });
    this.#teach(room);
    this.#tellTurned(room.view);
    this.showBars(cardsOf(rules), view.home);
    const able = view.moves.some(goesHome);
    // Whose own game is over need not stay for the others'.
    this.actions.hidden = room.phase !== "racing";
    for (const each of [this.home, this.all, this.auto, this.stop, this.resign]) each.hidden = !room.isRacing;
    this.out.hidden = room.isRacing;
    this.home.disabled = this.all.disabled = !able;
    for (const each of [this.all, this.auto]) each.hidden ||= !room.options.autoplay;
    this.all.classList.toggle("main-button", allFit(rules.family, view));
    this.showHint();
  }

  /** Once the answer to a move is there: of the position before it nobody knows the moves yet. */
  #teach({ view, move, isRacing }) {
    if (this.#lessons === null) return;
    if (!isRacing) return this.#tell("");
    if (view === this.#seen) return;
    if (this.#seen && move) this.#lessons.take(move, this.#seen, view);
    this.#tell(this.#lessons.sentence(view, this.rules, this.player.chips, !TOUCH.matches) );
  }

  /** To those who do not see it, which card has come from the stock. */
  #tellTurned(view) {
    const before = this.#seen;
    this.#seen = view;
    if (!before || view.stock >= before.stock) return;
    const place = view.waste.length > before.waste.length ? "w" : before.pending;
    const card = place && topCard(view, place);
    if (card) setText(this.turned, `${cardTexts(card).said}${place === "w" ? " on the waste" : ` at ${place}`}`);
  }

  showHint() {
    const { player } = this;
    const { room } = player;
    const view = room.view;
    if (!view) return;
    if (this.#notedAt !== this.#stage) this.#note = "";
    this.auto.setAttribute("aria-pressed", String(player.isAuto));
    const back = player.takenBack.length ? `Not played: ${placesText(player.takenBack)}. ` : "";
    setText(this.hint, back + (this.#note || this.#hintText(player, room, view)));
  }

  #hintText(player, room, view) {
    if (!player.isOnline) return "Not connected: no moves for now. The clock may run on, and your seat is kept a while.";
    if (room.phase === "over") return "";
    // A win that was not theirs, or was given to them, has stopped them: in a moment the result says so.
    if (["beaten", "walkover"].includes(endWord(room.own, room.seats))) return "";
    if (OWN_ENDS[room.own.state]) return OWN_ENDS[room.own.state] + stillRacing(room);
    if (player.ahead.length) return `Waiting to be played: ${placesText(player.ahead)}.`;
    if (!player.held && room.options.autoplay && allFit(this.rules.family, view)) return `Every card goes home now: All home${TOUCH.matches ? "" : `, or ${allHomeKey(view)}`}.`;
    // Of the position after a move on its way, nobody here knows the moves yet.
    if (player.inFlight && !player.held) return this.#hinted;
    this.#hinted = hint(player.shown.moves.length ? player.shown : view, this.rules, player.held, !TOUCH.matches, player.chips);
    return this.#hinted;
  }

  showBars(cards, ownHome) {
    const { room } = this.player;
    // One's own first, as it is the one that is looked for.
    const everybody = [...[...room.seats].sort((one, other) => Number(other.seat === room.seat) - Number(one.seat === room.seat)).map((seat) => ({ ...seat, key: seat.seat, isGhost: false })),
      ...room.ghosts.map((ghost) => ({ ...ghost, seat: room.seats.length + ghost.ghost, key: `g${ghost.ghost}`, isGhost: true }))];
    for (const each of everybody) {
      if (!this.#bars.has(each.key)) {
        this.#bars.set(each.key, bar(each.seat));
        this.barList.append(this.#bars.get(each.key).node);
      }
      const isOwn = each.key === room.seat;
      const word = each.isGhost ? `ghost${STATE_WORDS[each.state] ? `, ${STATE_WORDS[each.state]}` : ""}` : standing(each, room.phase, room.seats);
      const shown = this.#bars.get(each.key);
      shown.show({ name: each.name, isOwn, bot: each.bot, home: isOwn ? ownHome : each.home, cards, word });
      if (!isOwn && this.#plies.get(each.key) !== undefined && this.#plies.get(each.key) !== each.ply) pulse(shown.node);
      this.#plies.set(each.key, each.ply);
    }
  }
}

function placesText(places) {
  return places.map((place) => (place === HOME ? "the next card home" : place)).join(", ");
}

/** Somebody has moved. */
function pulse(node) {
  node.classList.remove("pulse");
  void node.offsetWidth;
  node.classList.add("pulse");
  setTimeout(() => node.classList.remove("pulse"), PULSE_MS);
}
