// A race that is over, as positions on one time line. Knows no rules: every position comes from the server.

import { endWord } from "./model.js";

/** @typedef {{seat: number, ply: number, at_ms: number, move: string, state: string, piles: Record<string, string[]>, waste_kept: number, waste_more: string[],
 *   stock: number, stock_next: string[], foundations: Record<string, number>, pending: string | null, redeals: number, home: number}} BoardStep */

export class Timeline {
  #views;

  /** @param {{firsts: import("./moves.js").View[], steps: BoardStep[]}} boards a `RaceBoards` @param {number} end when the last seat ended, in milliseconds */
  constructor(boards, end) {
    this.steps = boards.steps;
    this.end = Math.max(end, this.steps.at(-1)?.at_ms ?? 0);
    const now = [...boards.firsts];
    // Of each step the position of its seat; those of the other seats are found by looking back.
    this.#views = this.steps.map((step) => (now[step.seat] = stepped(now[step.seat], step)));
    this.firsts = boards.firsts;
  }

  /** How many steps have been made by a moment. @param {number} ms */
  stepsBy(ms) {
    let [low, high] = [0, this.steps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.steps[middle].at_ms <= ms) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** A seat's position after so many steps of all, and its last step. @param {number} seat @param {number} made */
  at(seat, made) {
    for (let at = made - 1; at >= 0; at -= 1) if (this.steps[at].seat === seat) return { view: this.#views[at], step: this.steps[at] };
    return { view: this.firsts[seat], step: null };
  }

  /** After how many steps two seats, which have the same deal, first make different moves; null where they never do. */
  get parting() {
    if (this.firsts.length !== 2) return null;
    const made = [[], []];
    for (const [at, { seat, move }] of this.steps.entries()) {
      const ply = made[seat].push(move) - 1;
      const other = made[1 - seat][ply];
      if (other !== undefined && other !== move) return at + 1;
    }
    return null;
  }
}

/** Show every seat as it stood at a moment. made: steps made by then.
 * @param {Timeline} timeline @param {any[]} seats of its record @param {any[]} bars @param {import("./boards.js").BoardView[]} boards
 * @param {number} cards in the game @param {number} ms @param {number} made */
export function showSeats(timeline, seats, bars, boards, cards, ms, made) {
  seats.forEach((seat, number) => {
    const { view, step } = timeline.at(number, made);
    const state = step?.state ?? "racing";
    const word = ms >= seat.ended_at_ms || state !== "racing" ? endWord(seat, seats) : "";
    bars[number].show({ name: seat.name, bot: seat.bot, home: view.home, cards, word });
    boards[number].show({ view, elapsed_ms: step?.at_ms ?? 0, ply: step?.ply ?? 0, state }, "");
  });
}

/** The position behind a step. @param {import("./moves.js").View} view @param {BoardStep} step */
export function stepped(view, step) {
  const { stock, stock_next, pending, redeals, home } = step;
  return {
    ...view, stock, stock_next, pending, redeals, home, moves: [],
    piles: { ...view.piles, ...step.piles },
    waste: [...view.waste.slice(0, step.waste_kept), ...step.waste_more],
    foundations: { ...view.foundations, ...step.foundations },
  };
}
