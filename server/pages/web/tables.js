// Pages that are tables of what is kept: the ladder, a player, deals of the day and challenges. They ask over HTTP, and once.

import { against, button, clean, clockText, counted, element, field, firstKnown, inlineField, listed, nameOf, section, setText, shape, wide } from "./dom.js";
import { identity } from "./identity.js";
import { STATE_WORDS, byId, endWord } from "./model.js";
import { TournamentList } from "./tournaments.js";

const AT_ONCE = 100;
/** Of more columns a phone shows no more than the first. */
const WIDE = 5;

class TablePage {
  /** @param {string} title */
  constructor(title) {
    document.title = `${title} · Carpet Race`;
    this.heading = element("h1", {}, title);
    this.facts = element("p", { class: "facts", role: "status" }, "Looking …");
    this.body = element("div", { class: "tables-page" });
    this.node = element("div", {}, this.heading, this.facts, this.body);
    this.rules = new Map();
    // When those that extend this one are made too.
    Promise.resolve().then(() => this.read());
  }

  #isUnread = false;

  /** What cannot be read now is read when the connection is up again. @param {string | null} [before] */
  async read(before) {
    this.#isUnread = false;
    try {
      await this.load(before);
    } catch (error) {
      this.#isUnread = !before && !(error instanceof Refused);
      setText(this.facts, error instanceof Refused ? clean(error.message) : "It could not be read. Try again in a moment.");
    }
  }

  /** @param {string | null} [before] */
  async load(before) {
    throw new Error(`nothing is read here ${before ?? ""}`);
  }

  /** The rule sets have names now. */
  named() {}

  up(welcome) {
    this.rules = byId(welcome.rules);
    this.named();
    if (this.#isUnread) this.read();
  }

  hear() {}

  rulesName(id) {
    return clean(this.rules.get(id)?.name ?? id);
  }
}

/** There is no such document; the message says why. */
export class Refused extends Error {}

/** A document of this server. @param {string} address */
export async function read(address, /** @type {RequestInit} */ how = {}) {
  const answered = await fetch(address, how);
  const document = await answered.json();
  if (!answered.ok) throw new Refused(document.error);
  return document;
}

function playerLink(name) {
  return element("a", { href: `/player/${encodeURIComponent(name)}` }, nameOf(name));
}

/** A table with a caption for readers aloud. rows: lists of cells; the second is what the row is about. With many columns each row becomes several lines where there is little room. @param {string} caption @param {string[]} heads @param {any[][]} rows */
function table(caption, heads, rows) {
  return wide(caption,
    element("table", { class: heads.length > WIDE ? "standings stacked" : "standings" }, element("caption", { class: "unseen" }, caption),
      element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, rows.map((cells) => element("tr", {}, cells.map((cell, at) => element(at === 1 ? "th" : "td", at === 1 ? { scope: "row" } : { "data-label": at > 1 && heads[at] }, cell)))))));
}

class LadderPage extends TablePage {
  constructor() {
    super("Ladder");
  }

  async load() {
    const { players } = await read(`/ladder.json?limit=${AT_ONCE}`);
    setText(this.facts, players.length ? "The best by rating. Only races between people, on deals that nobody could know, count." : "Nobody has raced for a rating yet.");
    if (players.length) this.body.replaceChildren(table("Ladder, best first", ["Place", "Player", "Rating", "Races"],
      players.map((each) => [String(each.place), playerLink(each.name), String(each.rating), String(each.races)])));
  }
}

class PlayerPage extends TablePage {
  /** @type {any[] | null} */
  #races = null;
  #next = null;

  /** @param {string} name */
  constructor(name) {
    super(clean(name));
    this.name = name;
  }

  async load(before = null) {
    const page = await read(`/players/${encodeURIComponent(this.name)}/races.json?limit=${AT_ONCE}${before ? `&before=${before}` : ""}`);
    this.heading.replaceChildren(nameOf(page.name));
    this.#races = [...(this.#races ?? []), ...page.races];
    this.#next = page.next;
    this.named();
  }

  named() {
    const races = this.#races;
    if (!races) return;
    const own = races.map((race) => race.seats[race.seat]);
    const over = races.filter((race) => race.aborted === null);
    const rated = own.map((seat) => seat.rating).filter(Boolean);
    const won = over.filter((race) => race.seats.length > 1 && race.seats[race.seat].place === 1).length;
    setText(this.facts, [rated.length ? `Rating ${rated[0].after}` : "Not rated yet", `${counted(over.length, "race")}${this.#next ? " and more" : ""}`, `${won} won`].join(" · "));
    const more = button("Older races", () => this.read(this.#next), { hidden: !this.#next });
    this.body.replaceChildren(...(rated.length > 1 ? [section("rating", "Rating", ratingCurve([...rated].reverse()))] : []),
      ...this.#opponents(over),
      section("races", "Races", races.length ? table("Races, newest first", ["Place", "Race", "Home", "Rating", "Game", "When"],
        races.map((race) => this.#row(race))) : element("p", { class: "none" }, "None yet."), more));
  }

  #row(race) {
    const own = race.seats[race.seat];
    const others = race.seats.filter((_, seat) => seat !== race.seat).map((seat) => clean(seat.name));
    const title = others.length ? `against ${listed(others)}` : "alone";
    const name = race.aborted === null ? element("a", { href: `/race/${encodeURIComponent(race.id)}` }, title) : `${title}, aborted`;
    const word = endWord(own, race.seats);
    return [own.place === null ? "–" : String(own.place), name, `${own.home}${word ? `, ${word}` : ""}`,
      own.rating ? `${own.rating.after} (${own.rating.after < own.rating.before ? "−" : "+"}${Math.abs(own.rating.after - own.rating.before)})` : "",
      this.rulesName(race.rules), new Date(race.finished_at_ms).toLocaleDateString()];
  }

  #opponents(races) {
    const met = new Map();
    for (const race of races.filter((each) => each.seats.length === 2)) {
      const [own, other] = [race.seats[race.seat], race.seats[1 - race.seat]];
      // Names change, and a bot may be called otherwise at a table of a tournament.
      const key = other.bot !== null ? `bot ${other.bot}` : other.player ?? other.name;
      const against = met.get(key) ?? { name: other.bot ?? other.name, won: 0, drawn: 0, lost: 0, isBot: other.bot !== null };
      against[own.place < other.place ? "won" : own.place === other.place ? "drawn" : "lost"] += 1;
      met.set(key, against);
    }
    const most = [...met.values()].sort((one, other) => other.won + other.drawn + other.lost - one.won - one.drawn - one.lost).slice(0, 12);
    if (!most.length) return [];
    return [section("against", "Against",
      table("Races against each opponent", ["Races", "Opponent", "Won", "Drawn", "Lost"], most.map(({ name, won, drawn, lost, isBot }) =>
        [String(won + drawn + lost), isBot ? `${clean(name)} (bot)` : playerLink(name), String(won), String(drawn), String(lost)])))];
  }
}

function ratingCurve(changes) {
  const points = [changes[0].before, ...changes.map((change) => change.after)];
  const [low, high] = [Math.min(...points), Math.max(...points)];
  const at = points.map((value, number) => `${((600 * number) / (points.length - 1)).toFixed(1)},${(110 - (100 * (value - low)) / Math.max(high - low, 1)).toFixed(1)}`);
  return element("div", { class: "plot" }, shape("svg", { role: "img", viewBox: "0 0 680 120", width: "100%", "aria-label": `Rating from ${points[0]} to ${points.at(-1)} in ${counted(changes.length, "race")}` },
    shape("polyline", { class: "curve seat-0", points: at.join(" ") }), shape("text", { x: 610, y: 16 }, String(high)), shape("text", { x: 610, y: 114 }, String(low))));
}

/** A page about a deal that many run. Its document is for anybody: the player of this browser is asked about by the connection, and sees the board once they have had their run. */
class RunsPage extends TablePage {
  /** As anybody may know it. @type {import("carpet-wire").Runs | null} */
  runs = null;
  /** The same as the player of this browser is told. @type {import("carpet-wire").Runs | null} */
  #own = null;

  /** What is asked about the deal, but for who asks. @returns {import("carpet-wire").ListRuns} */
  get question() {
    throw new Error("nothing is asked here");
  }

  /** Together with hello. @returns {import("carpet-wire").ClientMessage[]} */
  asks() {
    const { token } = identity;
    return token ? [{ ...this.question, token }] : [];
  }

  hear(message) {
    if (message.type !== "runs") return;
    this.#own = message;
    this.named();
  }

  /** The way to a run of it, for whoever has not had theirs. @param {string} address */
  way(address) {
    if (this.#own?.own) return element("span", { class: "note" }, "You have had your run.");
    return element("a", { class: "main-link", href: address }, "Run it");
  }

  /** Of two answers the later one may be the other. */
  get board() {
    return runsTable(this.#own?.shown ? this.#own : this.runs, this.isOpen);
  }

  /** Whether anybody may still begin a run of it. */
  get isOpen() {
    return true;
  }
}

/** The board of a deal that many run. @param {import("carpet-wire").Runs} runs @param {boolean} isOpen whether anybody may still begin a run of it */
function runsTable(runs, isOpen) {
  if (!runs.shown) return element("p", { class: "none" }, `${counted(runs.runs, "run")}${isOpen ? " so far. You see the board once you have had your run, and everybody does" : ". Everybody sees the board"} from ${new Date(runs.reveals_at_ms).toLocaleString([], { year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short" })} on.`);
  if (!runs.rows.length) return element("p", { class: "none" }, "Nobody has run it.");
  const home = (row) => `${row.home}${STATE_WORDS[row.state] ? `, ${STATE_WORDS[row.state]}` : ""}`;
  return table("Runs, best first", ["Place", "Player", "Home", "Reached at", "Moves", "Better than"], runs.rows.map((row) => [String(row.place),
    row.race === runs.own?.race ? element("span", {}, playerLink(row.name), " (you)") : playerLink(row.name),
    // Its record would tell the deal to those who have yet to run it.
    runs.secret === null ? home(row) : element("a", { href: `/race/${encodeURIComponent(row.race)}` }, home(row)),
    clockText(row.home_at_ms, true), String(row.plies), row.beats === null ? "" : `${row.beats} %`]));
}

const PAUSE_MS = 250;

/** What is looked for stands in the address, so that it can be sent to somebody. */
class SearchPage extends TablePage {
  #asked = 0;
  #timer = 0;
  #chosen = new URLSearchParams(location.search).get("rules") ?? "";

  constructor() {
    super("Search");
    this.wanted = element("input", { type: "search", id: "wanted", maxlength: "64", autocomplete: "off", placeholder: "a name, or a date" });
    this.wanted.value = new URLSearchParams(location.search).get("q") ?? "";
    this.game = element("select", { id: "rules" });
    this.wanted.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.load(), PAUSE_MS);
    });
    this.game.addEventListener("change", () => {
      this.#chosen = this.game.value;
      this.load();
    });
    this.heading.after(element("search", {}, element("p", { class: "filter" }, inlineField("Look for", this.wanted), inlineField("Game", this.game))));
    this.named();
  }

  async load() {
    const [wanted, rules] = [this.wanted.value.trim(), this.#chosen];
    const query = new URLSearchParams([...(wanted ? [["q", wanted]] : []), ...(rules ? [["rules", rules]] : [])]).toString();
    history.replaceState(null, "", query ? `/search?${query}` : "/search");
    const asked = ++this.#asked;
    if (!query) {
      this.found = null;
      setText(this.facts, "Players by the beginning of their names, with their races; tournaments; deals of the day by date; or all races at a game.");
      return this.named();
    }
    try {
      const found = await read(`/search.json?${query}`);
      // What was asked for later may have come earlier.
      if (asked !== this.#asked) return;
      /** @type {import("carpet-wire").Found | null} */
      this.found = found;
      const counts = [counted(found.players.length, "player"), counted(found.races.length, "race"), counted(found.tournaments.length, "tournament"), counted(found.days.length, "deal of the day", "deals of the day")];
      setText(this.facts, counts.filter((each) => !each.startsWith("0 ")).join(", ") || "Nothing was found.");
    } catch (error) {
      if (asked !== this.#asked) return;
      setText(this.facts, error instanceof Refused ? clean(error.message) : "It could not be read. Try again in a moment.");
    }
    this.named();
  }

  named() {
    this.game?.replaceChildren(element("option", { value: "" }, "any"), ...[...this.rules.values()]
      .map((rules) => element("option", { value: rules.id, selected: rules.id === this.#chosen }, rules.name)));
    const { players = [], races = [], tournaments = [], days = [] } = this.found ?? {};
    const part = (id, title, all, node) => (all.length ? [section(id, title, node())] : []);
    this.body.replaceChildren(
      ...part("players", "Players", players, () => table("Players, by name", ["Rating", "Player", "Races"],
        players.map((each) => [each.rating === null ? "–" : String(each.rating), playerLink(each.name), String(each.races)]))),
      ...part("races", "Races", races, () => table("Races, newest first", ["When", "Race", "Home", "Game"], races.map((race) => [
        new Date(race.finished_at_ms).toLocaleDateString(), element("a", { href: `/race/${encodeURIComponent(race.id)}` }, ...against(race.seats.map((seat) => seat.name))),
        race.seats.map((seat) => seat.home).join(" : "), this.rulesName(race.rules)]))),
      ...part("tournaments", "Tournaments", tournaments, () => table("Tournaments, newest first", ["Entrants", "Tournament", "Game", "When"], tournaments.map((each) => [
        String(each.entrants), element("a", { href: `/tournament/${encodeURIComponent(each.id)}` }, nameOf(each.name)), this.rulesName(each.rules), new Date(each.made_at_ms).toLocaleDateString()]))),
      ...part("days", "Deals of the day", days, () => element("ul", { class: "days" }, days.map((date) =>
        element("li", {}, element("a", { href: `/daily/${encodeURIComponent(date)}/${encodeURIComponent(this.#chosen || "carpet")}` }, date))))));
  }
}

class DailyPage extends RunsPage {
  /** @param {string | undefined} date null for today @param {string | undefined} rules */
  constructor(date, rules) {
    super("Deals of the day");
    this.date = date;
    this.chosen = rules ?? "carpet";
  }

  /** @returns {import("carpet-wire").ListRuns} */
  get question() {
    return { type: "list-runs", kind: "daily", id: this.date ?? null, rules: this.chosen };
  }

  async load() {
    const { days, now_ms: now } = await read("/daily.json");
    const today = new Date(now).toISOString().slice(0, 10);
    this.date ??= today;
    this.days = days.filter((day) => day.date <= today && day.date !== this.date);
    this.isToday = this.date === today;
    this.runs = await read(`/daily/${encodeURIComponent(this.date)}/${encodeURIComponent(this.chosen)}.json`);
    this.named();
  }

  named() {
    if (!this.runs) return;
    setText(this.facts, this.isToday ? "The same shuffle for everybody today, once each, until midnight in UTC." : `The deal of ${clean(this.date)}.`);
    const select = element("select", { id: "rules" }, [...(this.rules.size ? this.rules.values() : [{ id: this.chosen, name: this.chosen }])]
      .map((rules) => element("option", { value: rules.id, selected: rules.id === this.chosen }, rules.name)));
    // Not at once: the arrow keys go from one game to the next.
    const show = button("Show", () => location.assign(`/daily/${encodeURIComponent(this.date)}/${encodeURIComponent(select.value)}`));
    this.body.replaceChildren(
      field("Game", select, show, this.isToday ? this.way(`/play?daily&rules=${encodeURIComponent(this.chosen)}`) : null),
      section("board", "Board", this.board),
      ...(this.days.length ? [section("archive", "Other days", element("ul", { class: "days" },
        this.days.map((day) => element("li", {}, element("a", { href: `/daily/${encodeURIComponent(day.date)}/${encodeURIComponent(this.chosen)}` }, day.date)))))] : []));
  }
}

class TournamentsPage extends TablePage {
  constructor() {
    super("Tournaments");
    this.list = new TournamentList("Open or being played, then the latest");
    this.body.append(this.list.node);
  }

  async load() {
    this.told = await read("/tournaments.json");
    this.named();
  }

  named() {
    if (!this.told) return;
    const { tournaments } = this.told;
    setText(this.facts, tournaments.length ? counted(tournaments.length, "tournament") : "There is none now. The Play page has a form to make one.");
    this.list.show(tournaments, this.rules);
  }
}

/** In whole minutes, in hours once there is one of them, or in days once there are two. @param {number} ms */
export function timeLeft(ms) {
  const minutes = Math.ceil(ms / 60_000);
  if (minutes < 60) return minutes > 1 ? counted(minutes, "minute") : "a moment";
  const hours = Math.ceil(ms / 3_600_000);
  return hours < 48 ? counted(hours, "hour") : counted(Math.round(hours / 24), "day");
}

class ChallengesPage extends TablePage {
  constructor() {
    super("Challenges");
  }

  async load() {
    this.told = await read("/challenges.json");
    this.named();
  }

  named() {
    if (!this.told) return;
    const { challenges, now_ms: now } = this.told;
    setText(this.facts, challenges.length ? "Deals that somebody has opened for others to run, once each." : "No challenge is open. The Play page has a button to make one.");
    this.body.replaceChildren(...(challenges.length ? [table("Open challenges", ["Runs", "Challenge", "Game", "By", "Closes in"], challenges.map((each) => [
      String(each.runs), element("a", { href: `/challenge/${encodeURIComponent(each.id)}` }, each.id), this.rulesName(each.rules), playerLink(each.owner),
      timeLeft(each.closes_at_ms - now)]))] : []));
  }
}

/** What a challenge is, to whoever made it or has been sent its link. @param {boolean} isOwner @param {number} runs that have ended */
function whatToDo(isOwner, runs) {
  if (isOwner) return "Send the link of this page to whoever is to run it. Everybody has the same deal, once, in their own time, and races the ghosts of those who ran it before.";
  return `The same deal for everybody, once each, in your own time. ${runs ? "Those who ran it before run beside you, as ghosts." : "You are the first: whoever runs it later races your ghost."}`;
}

class ChallengePage extends RunsPage {
  /** @param {string} id */
  constructor(id) {
    super(`Challenge ${clean(id)}`);
    this.id = id;
  }

  /** @returns {import("carpet-wire").ListRuns} */
  get question() {
    return { type: "list-runs", kind: "challenge", id: this.id };
  }

  /** Made with this document: the connection is some round trips away. @returns {{owner?: string, closes_at_ms?: number}} */
  get #made() {
    return firstKnown() ?? {};
  }

  /** Runs that were begun in time may go on for a while before its deal is revealed. */
  get isOpen() {
    const { closes_at_ms: closes } = this.#made;
    return this.runs?.secret === null && (closes === undefined || Date.now() < closes);
  }

  async load() {
    this.runs = await read(`/challenges/${encodeURIComponent(this.id)}.json`);
    this.named();
  }

  named() {
    if (!this.runs) return;
    const { rules, runs, secret } = this.runs;
    const { isOpen } = this;
    const { owner = "", closes_at_ms: closes } = this.#made;
    setText(this.facts, [this.rulesName(rules), isOpen ? closes && `closes in ${timeLeft(closes - Date.now())}` : secret === null && "closed"].filter(Boolean).join(" · "));
    const isOwner = owner !== "" && owner === identity.name;
    this.heading.replaceChildren(...(isOwner ? ["Your challenge"] : owner ? [nameOf(owner), " challenges you"] : [`Challenge ${clean(this.id)}`]));
    const way = isOpen ? this.way(`/play?challenge=${encodeURIComponent(this.id)}`) : null;
    this.body.replaceChildren(element("p", {}, way ? whatToDo(isOwner, runs) : secret === null ? "It is closed: nobody can begin a run of it now." : "It is over."), ...(way ? [element("p", {}, way)] : []), this.board);
  }
}

/** The page of a kind. @param {string} kind @param {string} [step] @param {string} [rest] */
export function tablePage(kind, step, rest) {
  switch (kind) {
    case "player":
      return new PlayerPage(step);
    case "search":
      return new SearchPage();
    case "daily":
      return new DailyPage(step, rest);
    case "tournaments":
      return new TournamentsPage();
    case "challenges":
      return new ChallengesPage();
    case "challenge":
      return new ChallengePage(step);
    default:
      return new LadderPage();
  }
}
