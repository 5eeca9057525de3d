// Who this browser is: the token that makes it the same player again, and what it has seen of the race it is in. Kept in the storage of this
// origin alone; where a browser keeps nothing, for as long as the page is open.

const forPage = new Map();

export function read(key) {
  try {
    return localStorage.getItem(key) ?? forPage.get(key) ?? null;
  } catch {
    return forPage.get(key) ?? null;
  }
}

export function write(key, text) {
  forPage.set(key, text);
  try {
    localStorage.setItem(key, text);
  } catch {
    // Its owner has forbidden it, or it is full.
  }
}

function remove(key) {
  forPage.delete(key);
  try {
    localStorage.removeItem(key);
  } catch {
    // As above.
  }
}

/** Whether nothing outlives the page: the browser's owner has forbidden it. */
export function isForgetful() {
  try {
    localStorage.setItem("carpet.kept", "yes");
    localStorage.removeItem("carpet.kept");
    return false;
  } catch {
    return true;
  }
}

/** The terminal's, by what they are called here; the colours are the style sheet's. */
export const PALETTES = { two: "two colours", four: "four colours", safe: "for colour-blind players" };
const PALETTE = "carpet.palette";
const BELL = "carpet.bell";

/** How cards look, and whether the page rings. */
export const settings = {
  /** @returns {string} */
  get palette() {
    const kept = read(PALETTE) ?? "";
    return kept in PALETTES ? kept : "two";
  },
  turnPalette() {
    const names = Object.keys(PALETTES);
    write(PALETTE, names[(names.indexOf(this.palette) + 1) % names.length]);
  },
  get rings() {
    return read(BELL) !== "off";
  },
  turnBell() {
    write(BELL, this.rings ? "off" : "on");
  },
};

const FORMER = "carpet.former";
const FORMER_KEPT = 4;
/** The token of who tries to be somebody else again, until the server has answered. */
let before = null;

export const identity = {
  get token() {
    return read("carpet.token");
  },
  get name() {
    return read("carpet.name");
  },
  /** @param {string} token @param {string} name */
  keep(token, name) {
    before = null;
    write("carpet.token", token);
    write("carpet.name", name);
  },
  /** The name of who is no player yet. @param {string} name */
  propose(name) {
    write("carpet.name", name);
  },
  /** The server does not know the token. It may be a mistake, or mended: it is kept aside. Who tried to be somebody again is who they were. */
  forget() {
    const { token, name, former } = this;
    const back = before;
    before = null;
    if (token) write(FORMER, JSON.stringify([{ token, name }, ...former.filter((each) => each.token !== token)].slice(0, FORMER_KEPT)));
    remove("carpet.token");
    if (back) this.resume(back);
    before = null;
  },
  /** Who this browser was before the server forgot them, the last one first. @returns {{token: string, name: string}[]} */
  get former() {
    return list(FORMER).filter((each) => each?.token && each.name);
  },
  /** Be who a link of another browser's says; who this browser is now is kept aside. @param {string} token */
  take(token) {
    const { token: was } = this;
    if (!token || token === was) return;
    this.forget();
    this.keep(token, proposedName());
    before = was;
  },
  /** Be one of them again; who this browser is now is kept aside for them. @param {string} token */
  resume(token) {
    const known = this.former.find((each) => each.token === token);
    if (!known) return;
    const { token: was } = this;
    this.forget();
    write(FORMER, JSON.stringify(this.former.filter((each) => each.token !== token)));
    this.keep(token, known.name);
    before = was;
  },
};

const PROOFS = "carpet.proofs";
const PROOFS_KEPT = 24;

/** What this browser saw of a race before its record: `Evidence` of fairness.js. */
export const proofs = {
  /** Of the race with this record; null where it was not seen from here. @param {any} record @returns {import("./fairness.js").Evidence | null} */
  of(record) {
    const { room, race, deal } = record;
    const seen = list(PROOFS).filter((each) => each.race === race && (each.code === room || each.commitment === deal.commitment));
    // Races of a tournament's round have one commitment, and a drawn one is run again: then it is the one with that nonce.
    return seen.find((each) => deal.nonces[each.seat] === each.nonce) ?? seen[0] ?? null;
  },
  /** @param {string} code @param {number} race @param {string} commitment */
  find(code, race, commitment) {
    return list(PROOFS).find((each) => each.code === code && each.race === race && each.commitment === commitment) ?? null;
  },
  /** @param {string} code @param {number} race @param {import("./fairness.js").Evidence} evidence */
  keep(code, race, evidence) {
    const others = list(PROOFS).filter((each) => each.code !== code || each.race !== race);
    write(PROOFS, JSON.stringify([{ code, race, ...evidence }, ...others].slice(0, PROOFS_KEPT)));
  },
};

const ENTRIES = "carpet.entries";
const ENTRIES_KEPT = 12;

/** What this browser saw when it checked in for a tournament: `Entry` of fairness.js. */
export const entries = {
  /** @param {string} id of a tournament @returns {import("./fairness.js").Entry | null} */
  find(id) {
    return list(ENTRIES).find((each) => each.id === id) ?? null;
  },
  /** Of a private tournament, which the records of its races do not name. @param {string} commitment @returns {import("./fairness.js").Entry | null} */
  committed(commitment) {
    return list(ENTRIES).find((each) => each.commitment === commitment) ?? null;
  },
  /** Another nonce for it: one that is refused does no harm. @param {string} id @param {string} commitment @param {string} nonce */
  add(id, commitment, nonce) {
    const known = this.find(id) ?? { id, commitment, nonces: [] };
    const others = list(ENTRIES).filter((each) => each.id !== id);
    write(ENTRIES, JSON.stringify([{ ...known, nonces: [nonce, ...known.nonces].slice(0, ENTRIES_KEPT) }, ...others].slice(0, ENTRIES_KEPT)));
  },
};

const PRESSED = "carpet.pressed";
const PRESSED_MS = 60000;

/** A press of Ready that nobody had answered when this document gave way to another one of its tab, which says it again: for a minute. */
export const pressed = {
  /** @param {string | null} code of the race; null where there was none */
  keep(code) {
    try {
      if (code) sessionStorage.setItem(PRESSED, JSON.stringify({ code, at: Date.now() }));
    } catch {
      // As above.
    }
  },
  /** Once. @returns {string | null} */
  take() {
    try {
      const { code, at } = JSON.parse(sessionStorage.getItem(PRESSED) ?? "{}");
      sessionStorage.removeItem(PRESSED);
      return Date.now() - at < PRESSED_MS ? code : null;
    } catch {
      return null;
    }
  },
};

const TABLES = "carpet.tables";
const TABLES_KEPT = 24;
/** Their codes, the last one first. @type {string[]} */
let tablesSeen = [];
try {
  tablesSeen = sessionStorage.getItem(TABLES)?.split(" ") ?? [];
} catch {
  // As above.
}

/** Tables of tournaments at which this tab has been: whoever leaves one, or looks at the tournament meanwhile, is not taken back. */
export const tables = {
  /** @param {string} code */
  has(code) {
    return tablesSeen.includes(code);
  },
  /** @param {string} code @param {boolean} isSeen */
  keep(code, isSeen = true) {
    tablesSeen = [...(isSeen ? [code] : []), ...tablesSeen.filter((each) => each !== code)].slice(0, TABLES_KEPT);
    try {
      sessionStorage.setItem(TABLES, tablesSeen.join(" "));
    } catch {
      // As above.
    }
  },
};

function list(key) {
  try {
    const found = JSON.parse(read(key) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

const ADJECTIVES = ["Swift", "Quiet", "Bold", "Merry", "Keen", "Calm", "Sly", "Bright", "Lucky", "Nimble"];
const ANIMALS = ["Heron", "Otter", "Fox", "Lynx", "Wren", "Badger", "Hare", "Crane", "Marten", "Finch"];

/** A name for who has not chosen one. */
export function proposedName() {
  const pick = (words) => words[crypto.getRandomValues(new Uint32Array(1))[0] % words.length];
  return `${pick(ADJECTIVES)} ${pick(ANIMALS)}`;
}
