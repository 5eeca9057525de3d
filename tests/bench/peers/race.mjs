// The base game written anew, and a race of two at it, for the peers that run on Node: a move in, checked; a view to who made it, progress to
// the other. Keeps nothing, and has no limits, no resume and no clock to be fair by. How messages travel is each peer's.

import { randomInt } from "node:crypto";

const SUITS = "SHDC";
const RANKS = "A23456789TJQK";
const CARDS = [...SUITS].flatMap((suit) => [...RANKS].map((rank) => rank + suit));
const SLOTS = [1, 2, 3, 4].flatMap((row) => [..."abcde"].map((column) => column + row));

export function deal() {
  const deck = [];
  for (let card = 0; card < 52; card++) if (card % 13) deck.push(card);
  for (let last = deck.length - 1; last > 0; last--) {
    const other = randomInt(last + 1);
    [deck[last], deck[other]] = [deck[other], deck[last]];
  }
  return { carpet: deck.slice(0, 20), waste: [], stock: deck.slice(20), heights: [1, 1, 1, 1], pending: -1 };
}

export function legalMoves({ carpet, waste, stock, heights, pending }) {
  if (pending >= 0) return [`s:${SLOTS[pending]}`, `w:${SLOTS[pending]}`];
  const isWanted = (card) => heights[(card / 13) | 0] === card % 13;
  const moves = SLOTS.filter((_, index) => carpet[index] >= 0 && isWanted(carpet[index]));
  if (waste.length && isWanted(waste.at(-1))) moves.push("w");
  if (stock.length) moves.push("s");
  return moves.sort();
}

function raised(heights, card) {
  const after = heights.slice();
  after[(card / 13) | 0]++;
  return after;
}

export function play(position, move) {
  const { carpet, waste, stock, heights } = position;
  if (move === "s") return { carpet, waste: [...waste, stock[0]], stock: stock.slice(1), heights, pending: -1 };
  if (move === "w") return { carpet, waste: waste.slice(0, -1), stock, heights: raised(heights, waste.at(-1)), pending: -1 };
  if (move[1] === ":") return refilled(carpet, waste, stock, heights, SLOTS.indexOf(move.slice(2)), move[0] === "w");
  const index = SLOTS.indexOf(move);
  const home = raised(heights, carpet[index]);
  if (waste.length && stock.length) return { carpet: carpet.with(index, -1), waste, stock, heights: home, pending: index };
  if (!waste.length && !stock.length) return { carpet: carpet.with(index, -1), waste, stock, heights: home, pending: -1 };
  return refilled(carpet, waste, stock, home, index, waste.length > 0);
}

function refilled(carpet, waste, stock, heights, index, fromWaste) {
  if (fromWaste) return { carpet: carpet.with(index, waste.at(-1)), waste: waste.slice(0, -1), stock, heights, pending: -1 };
  return { carpet: carpet.with(index, stock[0]), waste, stock: stock.slice(1), heights, pending: -1 };
}

export function foundations(heights) {
  return { S: heights[0], H: heights[1], D: heights[2], C: heights[3] };
}

export function see(position, moves) {
  const piles = {};
  for (let index = 0; index < 20; index++) piles[SLOTS[index]] = position.carpet[index] < 0 ? [] : [CARDS[position.carpet[index]]];
  return {
    piles,
    waste: position.waste.map((card) => CARDS[card]),
    stock: position.stock.length,
    stock_next: [],
    foundations: foundations(position.heights),
    pending: position.pending < 0 ? null : SLOTS[position.pending],
    redeals: 0,
    home: position.heights.reduce((sum, height) => sum + height),
    moves,
  };
}

export class Race {
  // send(seat, message): how a message goes to a player.
  constructor(code, options, send) {
    Object.assign(this, { code, options, send, seated: 0, phase: "waiting", race: 1, version: 0, ready: 0, again: 0 });
  }

  // Gives the number of the seat.
  sit() {
    const seat = this.seated++;
    this.snapshot(seat);
    if (seat === 1) this.tell(0, { type: "seated", seat });
    return seat;
  }

  tell(seat, message) {
    message.version = ++this.version;
    this.send(seat, message);
  }

  snapshot(seat) {
    const { code, race, phase, options } = this;
    const seats = [0, 1].map((number) => ({ seat: number, name: number < this.seated ? `p${number}` : null }));
    this.tell(seat, { type: "room", code, race, phase, options, seats, seat, view: null });
  }

  heard(seat, said) {
    switch (said.type) {
      case "move":
        return this.move(seat, said);
      case "ready":
        if (++this.ready === 2) {
          this.ready = 0;
          setTimeout(() => this.start(), 1000);
        }
        return;
      case "rematch":
        if (++this.again === 2) {
          Object.assign(this, { again: 0, phase: "waiting", race: this.race + 1 });
          for (const each of [0, 1]) this.snapshot(each);
        }
    }
  }

  start() {
    const first = deal();
    const moves = legalMoves(first);
    Object.assign(this, { positions: [first, first], moves: [moves, moves], plies: [0, 0], states: ["racing", "racing"] });
    Object.assign(this, { phase: "racing", began: performance.now() });
    for (const seat of [0, 1]) {
      this.tell(seat, { type: "dealt", seat, starts_in_ms: 0, view: see(first, moves) });
      this.tell(seat, { type: "started" });
    }
  }

  move(seat, said) {
    if (this.phase !== "racing") return this.tell(seat, { type: "error", code: "race/over", ref: said.ref ?? 0 });
    if (said.ply !== this.plies[seat] || !this.moves[seat].includes(said.move)) {
      return this.tell(seat, { type: "error", code: "race/illegal-move", ref: said.ref ?? 0 });
    }
    const position = (this.positions[seat] = play(this.positions[seat], said.move));
    const moves = (this.moves[seat] = legalMoves(position));
    const view = see(position, moves);
    const ply = ++this.plies[seat];
    const state = (this.states[seat] = view.home === 52 ? "won" : moves.length ? "racing" : "stalled");
    const elapsed_ms = Math.trunc(performance.now() - this.began);
    this.tell(seat, { type: "view", seat, ply, move: said.move, state, elapsed_ms, view });
    this.tell(1 - seat, { type: "progress", seat, ply, home: view.home, foundations: view.foundations, state, elapsed_ms });
    if (state === "won" || !this.states.includes("racing")) {
      this.phase = "over";
      for (const each of [0, 1]) this.tell(each, { type: "result", record: {} });
    }
  }
}
