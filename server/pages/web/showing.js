// What a big screen shows: which race, which part of a tournament, and for how long. Draws nothing. Moments are `performance.now()`'s.

/** Of the closest races as many are shown by turns. */
const BY_TURNS = 3;
const STAYS_MS = 20000;
/** For so long the result of a race stays. */
export const RESULT_MS = 8000;
/** What is listed no more may have a result that is on its way. */
const GONE_MS = 2000;

/** The tables that are being raced at, the closest first. @param {any[]} tables `TournamentTable`s */
export function closestTables(tables) {
  const raced = tables.filter((table) => table.code !== null && table.result === null && table.sides.some((side) => side.state === "racing"));
  // A race against the house, which counts for nothing, is nobody's but its player's.
  return [...raced].sort((one, other) => Number(other.counted) - Number(one.counted) || apart(one.sides) - apart(other.sides) || most(other.sides) - most(one.sides) || one.table - other.table);
}

/** The finished table of a round that was the closest, with a race that can be replayed; null where there is none. @param {any[]} tables */
export function closestFinished(tables) {
  const raced = tables.filter((table) => table.result && !table.result.forfeit && table.second !== null && table.race_ids.length);
  const homes = ({ result }) => [{ home: result.first_home }, { home: result.second_home }];
  return raced.sort((one, other) => apart(homes(one)) - apart(homes(other)) || most(homes(other)) - most(homes(one)))[0] ?? null;
}

/** What of a round that is over is worth a replay: ids of races that are shown side by side, and what they are; null where there is nothing.
 * Of a session, in which everybody plays alone, the two that brought most home. @param {any[]} tables @param {string} format */
export function replayOf(tables, format) {
  if (format !== "session") {
    const closest = closestFinished(tables);
    return closest && { races: [closest.race_ids.at(-1)], words: `The closest table of the last round, table ${closest.table}, as it went` };
  }
  const raced = tables.filter((table) => table.result && !table.result.forfeit && table.race_ids.length);
  const best = raced.sort((one, other) => other.result.first_home - one.result.first_home || one.table - other.table).slice(0, 2);
  return best.length ? { races: best.map((table) => table.race_ids.at(-1)), words: "The best of the last deal, side by side, as they went" } : null;
}

function apart(sides) {
  const homes = sides.map((side) => side.home).sort((one, other) => other - one);
  // Whoever is alone is in no close race.
  return homes.length > 1 ? homes[0] - homes[1] : 1000 - homes[0];
}

function most(sides) {
  return Math.max(...sides.map((side) => side.home));
}

/** Which of several things is shown, each for a while: the races that are the closest now, or the parts of a tournament. */
export class Rotation {
  shown = null;
  isHeld = false;
  #since = 0;
  #until = null;
  #stays = 0;

  /** @param {number} byTurns of how many, the first ones @param {number} gone for how long something stays that is there no more */
  constructor(byTurns = BY_TURNS, gone = GONE_MS) {
    this.byTurns = byTurns;
    this.gone = gone;
  }

  /** What is to be shown now of these, the best first; null where there is nothing. stays: for how long. @param {string[]} names @param {number} now */
  pick(names, now, stays = STAYS_MS) {
    if (this.shown === null) return this.#show(names[0] ?? null, now);
    if (this.#until === null && !names.includes(this.shown)) this.end(now, this.gone);
    if (this.#until !== null) return now < this.#until ? this.shown : this.#show(this.#after(names), now);
    if (!this.isHeld && now - this.#since >= stays) return this.#show(this.#after(names), now);
    return this.shown;
  }

  /** Go on to the next one at once. @param {string[]} names @param {number} now */
  next(names, now) {
    this.isHeld = false;
    return this.#show(this.#after(names, names.length), now);
  }

  /** What is shown has ended: its result stays for a while, and then something else comes. May be said again and again. @param {number} now */
  end(now, stays = RESULT_MS) {
    if (this.#until !== null && this.#stays === stays) return;
    this.#until = now + stays;
    this.#stays = stays;
  }

  #after(names, byTurns = this.byTurns) {
    const turns = names.slice(0, byTurns);
    const others = turns.filter((name) => name !== this.shown);
    // After the last of them comes the first.
    return turns[turns.indexOf(this.shown) + 1] ?? others[0] ?? turns[0] ?? null;
  }

  #show(name, now) {
    if (name !== this.shown) this.isHeld = false;
    this.shown = name;
    this.#since = now;
    this.#until = null;
    return name;
  }
}

/** The parts of a tournament that are shown now, by turns. @param {any} told a `Tournament` @param {boolean} canReplay */
export function partsOf(told, canReplay) {
  const parts = {
    registration: ["join"],
    "check-in": ["join"],
    running: !closestTables(told.tables).length ? ["tables"] : told.options.format === "session" ? ["field"] : ["race"],
  }[told.phase];
  if (parts) return parts;
  const waiting = told.phase === "paused" && closestTables(told.tables).length ? [told.options.format === "session" ? "field" : "race"] : [];
  if (!told.rounds.length) return [...waiting, "join"];
  return [...waiting, "standings", ...(told.options.format === "elimination" ? ["bracket"] : []), ...(canReplay ? ["replay"] : [])];
}

/** The clock of a tournament: milliseconds, and whether they run down; null where nothing runs. @param {any} told @param {number} since milliseconds since it was told */
export function clockOf(told, since) {
  if (told.phase_ms !== null) return { ms: Math.max(told.phase_ms - since, 0), isLeft: true };
  const racing = closestTables(told.tables);
  if (!racing.length) return null;
  return { ms: Math.min(Math.max(...racing.map((table) => table.elapsed_ms)) + since, told.options.time_limit_s * 1000), isLeft: false };
}
