// On a big screen: a race that is over, as it went, or several on the same deal side by side.

import { clockText, setText } from "./dom.js";
import { read } from "./tables.js";
import { showSeats, Timeline } from "./timeline.js";

/** It takes so long, however long the race took. */
export const REPLAY_MS = 45000;

/** Races that were run alone on one deal, as one. @param {{record: any, boards: any}[]} races */
export function together(races) {
  let before = 0;
  const numbered = races.map(({ record, boards }) => ({ record, boards, first: (before += record.seats.length) - record.seats.length }));
  return {
    seats: races.flatMap(({ record }) => record.seats), rules: races[0].boards.rules, end: Math.max(...races.map(({ record }) => record.ended_at_ms)),
    boards: {
      firsts: races.flatMap(({ boards }) => boards.firsts),
      steps: numbered.flatMap(({ boards, first }) => boards.steps.map((step) => ({ ...step, seat: first + step.seat }))).sort((one, other) => one.at_ms - other.at_ms || one.seat - other.seat || one.ply - other.ply),
    },
  };
}

export class Replay {
  #timeline = null;
  #startedAt = 0;

  /** of: of `replayOf`. failed(): it could not be read. @param {{races: string[], words: string}} of @param {() => void} failed */
  constructor(of, failed) {
    this.races = of.races;
    this.words = of.words;
    this.#read().catch(failed);
  }

  async #read() {
    const races = await Promise.all(this.races.map(async (id) => {
      const address = `/races/${encodeURIComponent(id)}`;
      const [record, boards] = await Promise.all([read(`${address}.json`), read(`${address}/boards.json`)]);
      return { record, boards };
    }));
    this.race = together(races);
    this.#timeline = new Timeline(this.race.boards, this.race.end);
    this.#startedAt = performance.now();
  }

  get isThere() {
    return this.#timeline !== null;
  }

  /** @param {number} now @param {any[]} bars @param {import("./boards.js").BoardView[]} boards @param {HTMLElement} note */
  show(now, bars, boards, note) {
    const { seats, rules } = this.race;
    const timeline = this.#timeline;
    const pace = Math.max(1, timeline.end / REPLAY_MS);
    const ms = Math.min((now - this.#startedAt) * pace, timeline.end);
    showSeats(timeline, seats, bars, boards, rules.decks * 52, ms, timeline.stepsBy(ms));
    setText(note, `${this.words}: ${clockText(ms)} of ${clockText(timeline.end)}${pace > 1 ? `, ${Math.round(10 * pace) / 10} times as fast` : ""}.`);
  }
}
