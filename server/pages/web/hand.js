// What a player does at their table: what is held, the move that is on its way, and what was pressed meanwhile. Draws nothing.
//
// One move is on its way at a time; what is pressed meanwhile is played when the answer is there, against the position of then. So is at the start
// what is pressed before it: the cards come ahead of it, and no move is taken by then.

import { dealtChips, glides, isWhole, nextHome, press, preview, source } from "./moves.js";

const AHEAD = 8;
/** More letters no move has. */
const LONGEST = 8;
const OFFLINE = "Not connected. No moves for now; the clock may run on.";
const HOLDING = "First put the held card back (esc).";
const BY_HAND = "This race is played by hand: each card home takes a key of its own.";

/** Stands for the card that goes home next, where a place is pressed. */
export const HOME = "home";

export class Hand {
  /** @type {import("./played.js").PlayedRace | null} */
  room = null;
  held = "";
  ahead = [];
  /** What was pressed ahead and never played. */
  takenBack = [];
  chips = [];
  inFlight = null;
  isHoming = false;
  isAuto = false;
  isOnline = false;

  /** tell(kind, about): "note", "moved", "refusedPress" … to whoever draws.
   * @param {{send: (message: import("carpet-wire").ClientMessage) => boolean, restart: () => void}} connection @param {(kind: string, about?: any) => void} tell */
  constructor(connection, tell) {
    this.connection = connection;
    this.tell = tell;
  }

  /** Nothing is on its way, held or waiting any more. */
  drop() {
    this.inFlight = null;
    this.ahead = [];
    this.takenBack = [];
    this.held = "";
    this.isHoming = false;
  }

  /** What was pressed ahead is not played, and that is shown until the next press. */
  takeBack() {
    if (this.ahead.length) this.takenBack = this.ahead;
    this.ahead = [];
    this.isHoming = false;
  }

  /** Whether a move could not be sent now: one is on its way, or the clock does not run yet. */
  get #waits() {
    return this.inFlight !== null || (this.room !== null && this.room.isRacing && this.room.elapsed(performance.now()) < 0);
  }

  /** What was on its way is answered as soon as the position is beyond it. */
  settle() {
    const { room } = this;
    if (!room?.isRacing) {
      this.drop();
      return;
    }
    if (this.inFlight && room.own.ply > this.inFlight.ply) this.inFlight = null;
    while (!this.#waits && this.ahead.length) this.#press(this.ahead.shift());
    if (this.#waits) return;
    if (this.isHoming) this.sendAllHome();
    else if (this.isAuto && room.options.autoplay && !this.held && this.isOnline) {
      const best = nextHome(room.view, this.chips);
      if (best !== null) this.#move(best);
    }
  }

  /** What fits goes home by itself, or no longer. */
  turnAutoplay() {
    if (!this.room?.options.autoplay) return this.tell("note", BY_HAND);
    this.isAuto = !this.isAuto;
    this.tell("note", `Autoplay is ${this.isAuto ? "on: what fits goes home by itself" : "off"}.`);
    this.settle();
  }

  /** Press a place; `+` and `-` stand for the foundations of the held card. @param {string} place */
  press(place) {
    this.takenBack = [];
    if (!this.isOnline) {
      this.tell("note", OFFLINE);
    } else if (!this.#waits) {
      this.#press(place);
    } else if (["s", "r"].includes(place) && this.ahead.includes(place)) {
      this.tell("note", `${place} is already waiting to be played.`);
    } else if (this.ahead.length >= AHEAD) {
      this.tell("note", `${place} was not taken: ${AHEAD} moves are waiting already.`);
    } else {
      this.ahead.push(place);
      this.tell("moved");
    }
  }

  #press(place) {
    const { room } = this;
    if (!room?.isRacing) return;
    const refuse = () => {
      this.takeBack();
      this.tell("refusedPress", place);
    };
    if (place === HOME) {
      const best = nextHome(room.view, this.chips);
      return best === null ? refuse() : this.#move(best);
    }
    if (isWhole(place)) return room.view.moves.includes(place) ? this.#move(place) : refuse();
    if (place === "+" || place === "-") {
      const way = room.view.moves.find((move) => this.held && (move === this.held + place || move === this.held));
      return way ? this.#move(way) : refuse();
    }
    const pressed = press(room.view, this.held, place);
    this.held = pressed.held;
    if (pressed.move !== null) return this.#move(pressed.move);
    if (!pressed.isKnown) return refuse();
    this.tell("moved");
  }

  /** Play a move that was typed as it is written, or press the place that it names. @param {string} text */
  type(text) {
    const typed = text.trim().slice(0, LONGEST);
    if (typed) this.press(isWhole(typed) ? typed : source(typed));
  }

  /** One card home after the other, for as long as one goes. */
  sendAllHome() {
    const { room } = this;
    if (!room?.options.autoplay) return this.tell("note", BY_HAND);
    if (!this.isHoming) this.takenBack = [];
    if (!this.isOnline) return this.tell("note", OFFLINE);
    if (this.held && !this.isHoming) return this.tell("note", HOLDING);
    if (this.#waits) {
      this.isHoming = true;
      return;
    }
    const best = room?.isRacing && !this.held ? nextHome(room.view, this.chips) : null;
    if (best === null && !this.isHoming) this.tell("note", "No card can go home now.");
    this.isHoming = best !== null;
    if (best !== null) this.#move(best);
  }

  letGo() {
    this.held = "";
    this.ahead = [];
    this.takenBack = [];
    this.isHoming = false;
    this.tell("moved");
    this.settle();
  }

  #move(move) {
    const { room } = this;
    this.held = "";
    const before = this.shown;
    this.inFlight = { type: "move", race: room.race, seat: room.seat, ply: room.own.ply, move };
    this.connection.send(this.inFlight);
    this.tell("moved", { glides: glides(before, this.shown) });
  }

  /** The position as it is shown: with the move that is on its way. */
  get shown() {
    const { room, inFlight } = this;
    if (!room?.view) return null;
    return inFlight && inFlight.ply === room.own.ply && room.isRacing ? preview(room.view, inFlight.move) : room.view;
  }

  /** Take what the server says, and have glide what has come to lie elsewhere by it. @param {() => void} change */
  changeView(change) {
    const before = this.shown;
    change();
    if (!this.room.view) return;
    this.chips = dealtChips(this.chips, this.room.view);
    if (this.inFlight && this.room.own.ply > this.inFlight.ply) this.inFlight = null;
    const after = this.shown;
    if (before && before !== after) this.tell("moved", { glides: glides(before, after) });
  }
}
