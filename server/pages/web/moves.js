// What the moves of a view mean: where each begins and ends, what a press does, and how the table looks before the answer is there.
//
// Knows no rules of any game but which cards of a quilt lie free: everything else is read off `view.moves`. The same as the terminal's `client.game`, and held to it by a test. A *place* is a slot (`b3`),
// a reserve (`p4`), `w`, `s`, `r`, or a foundation as views name them (`S`, `S+`, `S-`).

/** @typedef {{piles: Record<string, string[]>, waste: string[], stock: number, stock_next: string[], foundations: Record<string, number>,
 *   pending: string | null, redeals: number, home: number, moves: string[]}} View  The player's own position, as the server tells it. */

export const FACE_DOWN = "??";
export const RANKS = "A23456789TJQK";
/** Keys that mean nothing else in a race, as in the terminal. Cards beyond them are played by slot, cursor or pointer. */
export const CHIPS = "1234567890mnouvxyzDEFIJNOPQSUVWXYZ";

/** Where a move takes its card: "b3" of "b3+". @param {string} move */
export const source = (move) => move.split(":")[0].replace(/[+-]+$/, "");

/** Where a move with a target puts it, else empty. @param {string} move */
export const target = (move) => move.split(":")[1] ?? "";

/** Whether a text is a whole move, as "w:b3" and "b3+" are, and not a place alone, as "S+" is. @param {string} text */
export const isWhole = (text) => target(text) !== "" || /^[a-z].*[+-]$/.test(text);

/** Whether a move brings a card to a foundation. @param {string} move */
export const goesHome = (move) => move !== "" && !move.includes(":") && move !== "s" && move !== "r";

/** The card that lies open at a place, else empty. @param {View} view @param {string} place */
export function topCard(view, place) {
  return (place === "w" ? view.waste : view.piles[place] ?? []).at(-1) ?? "";
}

/** Where a move ends: its target or its foundation; empty for turning and redealing. @param {View} view @param {string} move */
export function destination(view, move) {
  if (!goesHome(move)) return target(move);
  return topCard(view, source(move)).slice(1) + (/[+-]$/.test(move) ? move.at(-1) : "");
}

/** @param {View} view @param {string} place */
export const movesFrom = (view, place) => view.moves.filter((move) => source(move) === place);

/** @param {View} view @param {string} place */
export const movesOnto = (view, place) => (place ? view.moves.filter((move) => destination(view, move) === place) : []);

/** Of several moves from a place the one that a second press plays: home first, then the only pile to build on, then the first gap. @param {View} view @param {string} place @returns {string | null} */
export function suggested(view, place) {
  const own = movesFrom(view, place);
  const homeward = own.find(goesHome);
  if (homeward) return homeward;
  const isGap = (move) => view.piles[target(move)]?.length === 0;
  const builds = own.filter((move) => !isGap(move));
  if (builds.length === 1) return builds[0];
  const order = Object.keys(view.piles);
  const gaps = own.filter(isGap).sort((one, other) => order.indexOf(target(one)) - order.indexOf(target(other)));
  return builds.length ? null : gaps[0] ?? null;
}

/** What pressing a place does while `held` (or nothing, "") is held: a move to be sent, or the place that is held from now on. isKnown: it meant something.
 * @param {View} view @param {string} held @param {string} place @returns {{move: string | null, held: string, isKnown: boolean}} */
export function press(view, held, place) {
  const pressed = (move) => ({ move, held: "", isKnown: true });
  if (held) {
    if (place === held) return pressed(suggested(view, held));
    const begins = movesFrom(view, held);
    const between = begins.length ? begins.filter((move) => destination(view, move) === place)
      : movesOnto(view, held).filter((move) => source(move) === place);
    if (between.length) return pressed(between[0]);
  }
  const begins = movesFrom(view, place);
  const moves = begins.length ? begins : movesOnto(view, place);
  if (moves.length === 1) return pressed(moves[0]);
  return moves.length ? { move: null, held: place, isKnown: true } : { move: null, held: "", isKnown: false };
}

/** The places that may be pressed while one is held. @param {View} view @param {string} held @returns {Set<string>} */
export function choices(view, held) {
  const begins = movesFrom(view, held);
  return new Set(begins.length ? begins.map((move) => destination(view, move)) : movesOnto(view, held).map(source));
}

/** The places whose card can go home now: those with a key in the order of their keys, the waste last. @param {View} view @param {Chip[]} chips @returns {string[]} */
export function homeward(view, chips = []) {
  const able = new Set(view.moves.filter(goesHome).map(source));
  const keyed = [...chips].sort((one, other) => CHIPS.indexOf(one.key) - CHIPS.indexOf(other.key)).map((chip) => chip.place);
  return [...new Set([...keyed, ...Object.keys(view.piles), "w"])].filter((place) => able.has(place));
}

/** The move that sends the first of these cards home, onto the lower foundation if it fits two. @param {View} view @param {Chip[]} chips @returns {string | null} */
export function nextHome(view, chips = []) {
  const [first] = homeward(view, chips);
  const height = (move) => view.foundations[destination(view, move)] ?? 0;
  return view.moves.filter((move) => goesHome(move) && source(move) === first)
    .reduce((best, move) => (best === null || height(move) < height(best) ? move : best), null);
}

/** Whether every card that is left goes home one after the other, without the stock. Of a quilt that is not to be known so easily: its cards
 * cover each other. @param {string} family of the rule set @param {View} view */
export function allFit(family, view) {
  if (family === "quilt" || view.stock || view.pending !== null || !view.moves.some(goesHome)) return false;
  const piles = [...Object.values(view.piles), view.waste].filter((pile) => pile.length).map((pile) => [...pile]);
  const counts = { ...view.foundations };
  const left = () => piles.reduce((sum, pile) => sum + pile.length, 0);
  for (let before = -1; before !== left();) {
    before = left();
    for (const pile of piles) {
      for (const name of Object.keys(counts)) {
        while (pile.length && pile.at(-1) === nextCard(name, counts[name])) {
          pile.pop();
          counts[name] += 1;
        }
      }
    }
  }
  return left() === 0;
}

/** Whether a card of a quilt lies across: a1 lies upright, its neighbours across, and so on in turn. @param {string} slot */
export const isSideways = (slot) => (slot.charCodeAt(0) + Number(slot.slice(1))) % 2 === 1;

/** The slots of a quilt whose card has a free narrow end: next to it is a gap or the edge; with lanes, only gaps up to the edge.
 * @param {{lanes: boolean}} rules @param {View} view @returns {Set<string>} */
export function freeSlots(rules, view) {
  const isClear = (slot, step) => {
    let [column, row] = [slot.charCodeAt(0), Number(slot.slice(1))];
    for (;;) {
      if (isSideways(slot)) column += step;
      else row += step;
      const next = view.piles[String.fromCharCode(column) + row];
      if (!next) return true;
      if (next.length) return false;
      if (!rules.lanes) return true;
    }
  };
  return new Set(Object.keys(view.piles).filter((slot) => slot[0] !== "p" && view.piles[slot].length && (isClear(slot, -1) || isClear(slot, 1))));
}

/** The card that a foundation takes next, else null. @param {string} foundation @param {number} count */
export function nextCard(foundation, count) {
  const rank = foundation.endsWith("-") ? RANKS[12 - count] : RANKS[count];
  return rank === undefined ? null : rank + foundation[0];
}

/** The card that lies on top of a foundation, else empty. @param {string} foundation @param {number} count */
export const foundationCard = (foundation, count) => (count > 0 ? nextCard(foundation, count - 1) ?? "" : "");

/** The position as it will look when a move has been played, as far as its player can know. @param {View} view @param {string} move @returns {View} */
export function preview(view, move) {
  const place = source(move);
  const end = target(move);
  if (move === "r") return { ...view, waste: [], stock: view.waste.length, redeals: Math.max(view.redeals - 1, 0), moves: [] };
  const card = place === "s" ? FACE_DOWN : topCard(view, place);
  if (!card) return view;
  const next = { ...view, piles: { ...view.piles }, foundations: { ...view.foundations } };
  if (place === "w") next.waste = view.waste.slice(0, -1);
  else if (place in next.piles) next.piles[place] = next.piles[place].slice(0, -1);
  const foundation = destination(view, move);
  if (end in next.piles) next.piles[end] = [...next.piles[end], card];
  else if (end === "w" || (place === "s" && !end)) next.waste = [...next.waste, card];
  else if (foundation in next.foundations) {
    next.foundations[foundation] += 1;
    next.home += 1;
  }
  if (place === "s") {
    next.stock = Math.max(view.stock - 1, 0);
    next.stock_next = view.stock_next.slice(1);
  }
  if (end && end === view.pending) next.pending = null;
  next.moves = view.moves.filter((each) => source(each) !== place && !(end && target(each) === end));
  return next;
}

/** @typedef {{key: string, place: string, card: string}} Chip */

/** The chips of a view: a card keeps its key for as long as it can be played. @param {Chip[]} before @param {View} view @returns {Chip[]} */
export function dealtChips(before, view) {
  const begins = new Set(view.moves.map(source));
  const places = Object.keys(view.piles).filter((place) => begins.has(place));
  const kept = before.filter((chip) => places.includes(chip.place) && topCard(view, chip.place) === chip.card);
  const taken = new Set(kept.map((chip) => chip.key));
  const free = [...CHIPS].filter((key) => !taken.has(key));
  const fresh = places.filter((place) => !kept.some((chip) => chip.place === place)).slice(0, free.length);
  return [...kept, ...fresh.map((place, at) => ({ key: free[at], place, card: topCard(view, place) }))];
}

/** The chips that hold now: while a card is held, those of the places where it may go. @param {Chip[]} chips @param {View} view @param {string} held @returns {Chip[]} */
export function chipsOf(chips, view, held) {
  if (!held) return chips.length ? chips : dealtChips([], view);
  const ends = choices(view, held);
  return [...Object.keys(view.piles), ...Object.keys(view.foundations)].filter((place) => ends.has(place)).slice(0, CHIPS.length)
    .map((place, at) => ({ key: CHIPS[at], place, card: topCard(view, place) }));
}

/** Which cards have come to lie elsewhere between two views, each from where to where: what is to glide. @param {View} before @param {View} after @returns {{from: string, to: string}[]} */
export function glides(before, after) {
  const left = new Map();
  const came = [];
  for (const place of [...Object.keys(after.piles), "w"]) {
    const [was, is] = [topCard(before, place), topCard(after, place)];
    const [had, has] = place === "w" ? [before.waste.length, after.waste.length] : [before.piles[place]?.length ?? 0, after.piles[place].length];
    if (was === is && had === has) continue;
    if (was && (has < had || was !== is)) left.set(was, place);
    if (has >= had && is && is !== was) came.push([place, is]);
  }
  for (const [name, count] of Object.entries(after.foundations)) {
    if (count > (before.foundations[name] ?? 0)) came.push([name, foundationCard(name, count)]);
  }
  const fromStock = before.stock > after.stock ? "s" : undefined;
  const found = came.map(([to, card]) => ({ from: left.get(card) ?? fromStock, to })).filter(({ from, to }) => from && from !== to);
  // More than a few are another table, or a row that is dealt.
  return found.length <= 3 ? found : [];
}
