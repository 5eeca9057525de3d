// The keys of a race, those of the terminal's client: the letters of columns name slots (b3), figures and some letters are chips on cards.

import { HOME } from "./hand.js";
import { allHomeKey } from "./hints.js";
import { CHIPS, chipsOf } from "./moves.js";

const STARTERS = "abcdefgip";
const COLUMNS = "abcdefghij";
const ARROWS = {
  ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0],
  k: [0, -1], j: [0, 1], h: [-1, 0], l: [1, 0],
};

/** The rows of the help page. */
export const KEY_ROWS = [
  ["click, tap", "Play a card. If it can go to several places, press where."],
  ["digit or letter on a card", "Play that card."],
  ["b3", "Play the card at b3; for columns h and j: ’h3, ’j2."],
  ["space", "Send a card home, key 1 before 2; a held card to the marked place."],
  ["G, g", "Send home all that can go (g if no column is g)."],
  ["H", "What fits goes home by itself, on or off."],
  [":", "Type a whole move: b3, w, s, w:b3, c5:w, b3+."],
  ["w, s, r", "The waste’s card, the stock, a redeal."],
  ["+, −", "Send the held card home on the foundation that builds up, or down."],
  ["arrows, hjkl; tab", "Mark a place; the next card that can be played."],
  ["enter", "Play the marked card, or put the held one there."],
  ["esc", "Put the held card back."],
  ["K", "Stop; the cards you brought home count."],
  ["R", "Give up."],
  ["L", "Leave."],
  ["t", "Say one of nine phrases, by its number."],
  ["M", "Cards that glide, on or off."],
  ["C", "Suits in two colours, in four, or for colour-blind players."],
  ["B", "A tone for a race that starts while you look elsewhere, on or off."],
  ["?", "These keys."],
];

export class Keys {
  #typed = "";

  /** does: what stop, resign, leave, talk, type, motion, suits, bell and help do; note(text). @param {import("./player.js").Player} player @param {Record<string, (about?: any) => void>} does */
  constructor(player, does) {
    this.player = player;
    this.does = does;
  }

  /** A key in a race. True where it was meant for the table. @param {string} key @param {import("./table.js").Table} table */
  take(key, table) {
    const { player, does } = this;
    const { view } = player.room;
    const typed = this.#typed;
    this.#typed = "";
    if (!typed) {
      if (key === "g" && allHomeKey(view) === key) return this.#all();
      const chip = chipsOf(player.chips, view, player.held).find((each) => each.key === key);
      if (chip) return this.#press(chip.place);
      if (CHIPS.includes(key) && key.length === 1) {
        does.note(`No card has the key ${key} now.`);
        return true;
      }
    } else if (typed !== "'" && /^[1-9]$/.test(key)) {
      return this.#press(typed + key);
    }
    if (key.length === 1 && (STARTERS.includes(key) || (typed === "'" && COLUMNS.includes(key)))) {
      this.#typed = key;
      does.note(`${key} …`);
      return true;
    }
    if (key in ARROWS) {
      const [right, down] = ARROWS[key];
      table.step(right, down);
      return true;
    }
    switch (key) {
      case "'":
        this.#typed = key;
        return true;
      case " ":
        return this.#press(player.held ? table.cursor || player.held : HOME);
      case "G":
        return this.#all();
      case "w": case "s": case "r":
        // Where the stock has lain, a redeal is what is left of it.
        return this.#press(key);
      case "+": case "=": case "-":
        return this.#press(key === "-" ? "-" : "+");
      case "Escape":
        player.letGo();
        return true;
      case ":": does.type(); return true;
      case "H": player.turnAutoplay(); return true;
      case "K": does.stop(); return true;
      case "R": does.resign(); return true;
      case "L": does.leave(); return true;
      case "t": does.talk(); return true;
      case "M": does.motion(); return true;
      case "C": does.suits(); return true;
      case "B": does.bell(); return true;
      case "?": does.help(); return true;
      default:
        return false;
    }
  }

  #press(place) {
    this.does.note("");
    this.player.press(place);
    return true;
  }

  #all() {
    this.player.sendAllHome();
    return true;
  }
}
