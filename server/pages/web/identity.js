// Who this browser is: the token that makes it the same player again, and what it has seen of the race it is in. Kept in the storage of this
// origin alone; where a browser keeps nothing, for as long as the page is open.

const forPage = new Map();

function read(key) {
  try {
    return localStorage.getItem(key) ?? forPage.get(key) ?? null;
  } catch {
    return forPage.get(key) ?? null;
  }
}

function write(key, text) {
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

export const identity = {
  get token() {
    return read("carpet.token");
  },
  get name() {
    return read("carpet.name");
  },
  /** @param {string} token @param {string} name */
  keep(token, name) {
    write("carpet.token", token);
    write("carpet.name", name);
  },
  /** The name of who is no player yet. @param {string} name */
  propose(name) {
    write("carpet.name", name);
  },
  forget() {
    remove("carpet.token");
  },
};

const PROOFS = "carpet.proofs";
const PROOFS_KEPT = 4;

/** What this browser saw of a race before its record: `Evidence` of fairness.js. */
export const proofs = {
  /** @param {string} code @param {number} race @param {string} commitment */
  find(code, race, commitment) {
    return all().find((each) => each.code === code && each.race === race && each.commitment === commitment) ?? null;
  },
  /** @param {string} code @param {number} race @param {import("./fairness.js").Evidence} evidence */
  keep(code, race, evidence) {
    const others = all().filter((each) => each.code !== code || each.race !== race);
    write(PROOFS, JSON.stringify([{ code, race, ...evidence }, ...others].slice(0, PROOFS_KEPT)));
  },
};

function all() {
  try {
    const found = JSON.parse(read(PROOFS) ?? "[]");
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
