// Whether nobody chose the cards of a race: each link from the commitment that was shown before the start to the cards that were dealt.
// "Fair deals" and "The record" of the specification; the terminal's client checks the same.

import { RANKS } from "./moves.js";
import { fromHex, hex, hmac, joined, sha256, utf8 } from "./sha256.js";

/** The record without its digest, as its digest is taken of it: keys sorted, no spaces. @param {any} value @returns {string} */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  // By code points, as in UTF-8; the keys of a record are ASCII.
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}

/** The cards in the order of a seed (32 bytes). @param {number} decks @param {Uint8Array} seed @returns {string[]} */
export function shuffled(decks, seed) {
  const cards = Array.from({ length: decks }, () => [..."SHDC"].flatMap((suit) => [...RANKS].map((rank) => rank + suit))).flat();
  const words = stream(seed);
  for (let last = cards.length - 1; last > 0; last -= 1) {
    const limit = 2 ** 32 - (2 ** 32 % (last + 1));
    let word = words.next().value;
    while (word >= limit) word = words.next().value;
    const drawn = word % (last + 1);
    [cards[last], cards[drawn]] = [cards[drawn], cards[last]];
  }
  return cards;
}

/** @param {Uint8Array} seed @returns {Generator<number, never>} */
function* stream(seed) {
  for (let block = 0; ; block += 1) {
    const message = new DataView(new ArrayBuffer(8));
    message.setUint32(4, block);
    const digest = new DataView(hmac(seed, joined(utf8("deal"), new Uint8Array(message.buffer))).buffer);
    for (let at = 0; at < 32; at += 4) yield digest.getUint32(at);
  }
}

function derived(deal, nonces, k) {
  const number = new DataView(new ArrayBuffer(4));
  number.setUint32(0, k);
  return sha256(joined(fromHex(deal.secret), ...nonces.map(fromHex), new Uint8Array(number.buffer)));
}

/** @typedef {{commitment: string, nonce: string, seat: number, winnable: boolean, first: import("./moves.js").View | null}} Evidence  What this page saw itself. */
/** @typedef {{id: string, commitment: string, nonces: string[]}} Entry  Of a tournament: its id, what it committed to when this page checked in, and what was given for its shuffles. */
/** @typedef {{isTrue: boolean | null, sentence: string}} Check  null: this page has not seen what it takes. */

/** Every check in order. @param {any} record @param {Evidence | null} evidence of this race @param {number} seat one's own @param {number} decks @returns {Check[]} */
export function checks(record, evidence, seat, decks) {
  return [digestCheck(record), seedCheck(record, evidence), ...(evidence ? [commitmentCheck(record, evidence), nonceCheck(record, evidence, seat)] : [unseen()]),
    cardsCheck(record, evidence?.first ?? null, seat, decks)];
}

const unseen = () => ({ isTrue: null, sentence: "This page did not see the commitment before the start." });

function digestCheck(record) {
  const { digest, ...rest } = record;
  const isTrue = hex(sha256(utf8(canonical(rest)))) === digest;
  return { isTrue, sentence: isTrue ? "The record is as the server sealed it." : "The record was altered: its digest does not fit." };
}

function seedCheck(record, evidence) {
  const wrong = (sentence) => ({ isTrue: false, sentence });
  const { deal } = record;
  if (hex(sha256(fromHex(deal.secret))) !== deal.commitment) return wrong("The secret is not the one that the server committed to.");
  if (deal.nonces.length !== record.seats.length || record.seats.some((seat, at) => seat.bot !== null && /[^0]/.test(deal.nonces[at]))) {
    return wrong("The nonces do not fit the seats.");
  }
  if (evidence && deal.winnable !== evidence.winnable) return wrong(`${evidence.winnable ? "Only a deal that can be won" : "Any deal"} was asked for, and the record says otherwise.`);
  if (deal.past) return { isTrue: null, sentence: "The deal is that of an earlier race, whose record tells where it came from." };
  if (deal.name !== null) {
    const isTrue = hex(sha256(utf8(`carpet deal ${deal.name}`))) === deal.seed;
    return { isTrue, sentence: isTrue ? "The seed is the one of the deal’s name." : "The seed is not the one of the deal’s name." };
  }
  // Only a table of a round races again, on another shuffle.
  const k = deal.shared ? (deal.shared.kind === "round" ? (deal.shared.number ?? 1) - 1 : 0) : deal.winnable ? deal.k : 0;
  const isTrue = deal.k === k && hex(derived(deal, deal.shared?.nonces ?? deal.nonces, k)) === deal.seed;
  if (!isTrue) return wrong("The seed does not follow from the secret and the nonces.");
  return { isTrue, sentence: deal.shared ? "The seed follows from the secret and the nonces of the deal." : "The seed follows from the secret and everybody’s nonces." };
}

function commitmentCheck(record, evidence) {
  const isTrue = evidence.commitment === record.deal.commitment;
  return { isTrue, sentence: isTrue ? "The secret was fixed before your nonce was sent." : "The commitment is not the one that was shown before." };
}

function nonceCheck(record, evidence, seat) {
  const isTrue = record.deal.nonces[seat] === evidence.nonce;
  if (!isTrue) return { isTrue, sentence: "The nonce at your seat is not the one that was sent." };
  const isUsed = record.deal.name === null && !record.deal.shared && !record.deal.past;
  return { isTrue, sentence: isUsed ? "Your nonce took part in the shuffle." : "Your nonce is in the record; this kind of deal does not use it." };
}

function roundOf({ deal }) {
  return Number(deal.shared.id.split("/")[1]);
}

/** What the tournament of a round's race committed to, if its secret is true: each round's secret is what the one after it commits to. */
export function commitmentOfRounds(record) {
  let follows = /** @type {Uint8Array} */ (fromHex(record.deal.secret));
  for (let round = 0; round < roundOf(record); round += 1) follows = sha256(follows);
  return hex(follows);
}

/** Of a race of a tournament's round: whether what its player gave when they checked in is in the shuffle, and the secret was fixed before.
 * "Shuffles of rounds" of the specification. @param {any} record @param {Entry} entry @param {any} document the `TournamentDocument`, null where it could not be read @returns {Check[]} */
export function entryChecks(record, entry, document) {
  const { shared } = record.deal;
  const number = roundOf(record);
  const isFixed = commitmentOfRounds(record) === entry.commitment;
  const fixed = { isTrue: isFixed, sentence: isFixed ? "The secrets of all rounds were fixed before you checked in." : "The secret is not one of those that were committed to before you checked in." };
  const given = document?.rounds.find((round) => round.number === number)?.nonces;
  if (!given) return [fixed, { isTrue: null, sentence: "What was given for the shuffle of this round could not be read." }];
  const together = hex(sha256(joined(...[...given].sort().map(fromHex))).slice(0, 16));
  const isIn = together === shared.nonces[0] && entry.nonces.some((nonce) => given.includes(nonce));
  return [fixed, { isTrue: isIn, sentence: isIn ? "What you gave when you checked in took part in the shuffle." : "What you gave when you checked in is not in the shuffle." }];
}

function cardsCheck(record, first, seat, decks) {
  if (!first) return { isTrue: null, sentence: "This page did not see the first cards." };
  if (record.deal.past) return { isTrue: null, sentence: "The race began after its first moves, not with the deal." };
  const isSwap = record.series?.format === "swap";
  const seed = isSwap ? derived(record.deal, record.deal.nonces, (seat + record.series.race - 1) % 2) : fromHex(record.deal.seed);
  const order = shuffled(decks, seed);
  for (const [name, count] of Object.entries(first.foundations)) {
    const run = name.endsWith("-") ? [...RANKS].reverse() : [...RANKS];
    for (const rank of run.slice(0, count)) {
      const at = order.indexOf(rank + name[0]);
      if (at >= 0) order.splice(at, 1);
    }
  }
  const isTrue = Object.values(first.piles).flat().every((card, at) => order[at] === card);
  return { isTrue, sentence: isTrue ? "Your cards lay as the seed shuffles them." : "Your cards did not lie as the seed shuffles them." };
}

/** All of them in one sentence. @param {Check[]} made @param {any} record @returns {Check} */
export function verdict(made, record) {
  const wrong = made.find((check) => check.isTrue === false);
  if (wrong) return { isTrue: false, sentence: `The deal does not check out. ${wrong.sentence}` };
  if (made.some((check) => check.isTrue === null)) return { isTrue: null, sentence: "Nothing is wrong with the deal, but this page did not see all of the proof." };
  if (record.deal.name !== null) return { isTrue: true, sentence: "The deal checks out: it is the shuffle of its name." };
  // Whoever drew its secret, and for how long they have known it, shows in no race on it.
  if (record.deal.shared) return { isTrue: true, sentence: "The deal checks out: it is the shuffle that was committed to." };
  if (record.deal.winnable) return { isTrue: true, sentence: "The deal checks out. Only carpet verify can tell that no winnable one was passed over." };
  return { isTrue: true, sentence: "The deal checks out: nobody chose the cards." };
}
