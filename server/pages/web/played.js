// What a player knows of the race that they run: what those who watch know, and beside it their own cards. Draws nothing.

import { WatchedRace } from "./model.js";

export class PlayedRace extends WatchedRace {
  // No fields here: `takeRoom` runs before they would be set.

  /** @param {any} room the message @param {number} now */
  constructor(room, now) {
    super({ room, boards: [], watchers: 0, closest: false, lines: [] }, now);
  }

  takeRoom(room, now) {
    // Whoever asked for another race has looked at the result.
    if (this.race !== room.race) this.wasAskedFor = this.seats?.[this.seat]?.again ?? false;
    super.takeRoom(room, now);
    this.seat = room.seat;
    this.view = room.view;
    this.commitment = room.commitment;
    this.ghosts = room.ghosts ?? [];
    this.move = null;
    // Who still watches is told behind it.
    this.takeWatchers(0);
  }

  get own() {
    return this.seats[this.seat];
  }

  /** Whether the result of the race before is still there to be looked at, before what is next. */
  get showsLast() {
    return this.last !== null && this.phase === "waiting" && !this.own?.ready && !this.wasAskedFor;
  }

  get isRacing() {
    return this.phase === "racing" && this.own?.state === "racing" && this.view !== null;
  }

  /** Whether whoever leaves now gives a series up: not in its last race, and not before its first. */
  get givesUpSeries() {
    if (!this.series || this.series.over) return false;
    return ["countdown", "racing"].includes(this.phase) ? this.series.raced + 1 < this.series.races : this.series.raced > 0;
  }

  /** A room event. False when one was missed, and the race has to be joined again. */
  apply(event, now) {
    const before = this.version;
    if (!super.apply(event, now)) return false;
    if (event.type === "room" || this.version === before) return true;
    switch (event.type) {
      case "dealt":
        this.phase = "racing";
        this.startsAt = null;
        this.startedAt = now + event.starts_in_ms;
        this.#takeView(event.view, { ply: 0, state: "racing", elapsed_ms: 0 });
        for (const seat of this.seats) {
          if (seat.state !== "waiting" && seat !== this.own) continue;
          // Everybody has the same deal, but in a swap.
          const known = this.options.series.format === "swap" && seat !== this.own ? {} : { home: event.view.home, foundations: event.view.foundations };
          Object.assign(seat, { state: "racing", ...known });
          this.curves.get(seat.seat).push([0, seat.home]);
        }
        break;
      case "view":
        this.move = event.move;
        this.#takeView(event.view, event);
        this.curves.get(this.seat).push([event.elapsed_ms, event.view.home]);
        this.startedAt = Math.min(this.heldAt ? now : this.startedAt ?? now, now - event.elapsed_ms);
        this.heldAt = null;
        break;
      case "progress":
        if (event.seat === this.seat && this.view) this.own.foundations = this.view.foundations;
        break;
      case "unseated":
        if (this.phase === "waiting") Object.assign(this.seats[event.seat], { ready: false });
        break;
      case "rematch-asked":
        this.seats[event.seat].again = true;
        break;
      case "ghost":
        this.ghosts = this.ghosts.map((ghost) => (ghost.ghost === event.ghost.ghost ? event.ghost : ghost));
        break;
    }
    return true;
  }

  /** One's own position as it is: what comes behind the answer to a move that was not played. */
  takeCurrent(message) {
    if (message.race !== this.race || message.seat !== this.seat) return;
    this.move = null;
    this.#takeView(message.view, message);
  }

  #takeView(view, { ply, state, elapsed_ms }) {
    this.view = view;
    Object.assign(this.own, { ply, state, elapsed_ms, home: view.home, foundations: view.foundations });
  }
}
