// The connection to the server: one WebSocket after another, with growing pauses between them.

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 15000;
// After so long without a word the server is asked for one; without an answer the connection is taken for lost.
const SILENCE_MS = 8000;
const ANSWER_MS = 5000;
// A connection that takes no longer is not spoken of.
const SLOW_MS = 800;
// The same for somebody whose clock runs.
const RACING_SILENCE_MS = 6000;
const RACING_ANSWER_MS = 6000;
// On a slow line a connection takes longer: each try that was too slow doubles the time of the next, so often.
const DOUBLINGS = 3;
const LOOK_MS = 1000;
/** `ref` of the question whether the server is there. */
const PROBE = 2 ** 31 - 1;
// Between two tries of a connection that somebody's race comes by.
const RACING_PAUSE_MS = 1500;
/** The close code of a connection whose player has another one now. */
const TAKEN_OVER = 4009;
/** Of a server that is none of its place any more. */
const LET_GO = 4010;
/** So often in a row a connection may be sent on: more is a circle. */
const MOVES = 4;
const RELOADED = "carpet.reloaded";
const RELOADED_MS = 60000;

/** Before what the server could not take for the moment is said again, where it does not say when. */
export const HUSH_MS = 1200;

/** Said of a press that could not go out. */
export const UNSENT = "Not connected: that was not sent. Try again when the connection is back.";

const SOFTWARE = "web page";

/** The first message of a player. @param {string} name @param {string | null} token empty or null for who is none yet @returns {import("carpet-wire").Hello} */
export function playerHello(name, token) {
  return { type: "hello", name, token: token || null, software: SOFTWARE };
}

/** The same of somebody who looks on. @param {string | null} [token] of who they are elsewhere, if anybody @returns {import("carpet-wire").Hello} */
export function watcherHello(token) {
  return { type: "hello", name: "", watch: true, token: token === "" ? null : token, software: SOFTWARE };
}

/** The address of this server for programs. */
export function serverAddress() {
  const isSecure = location.protocol === "https:";
  const port = location.port || (isSecure ? "443" : "80");
  return `${isSecure ? "wss" : "ws"}://${location.hostname}:${port}`;
}

/** Which of the servers that are one place the connection goes to next: the document's own, or another that it was told of. The document's policy
 * names those that it may go to, so that a token stays within the place whoever says where to go. */
export class Route {
  #known;
  #moves = 0;

  /** @param {string} home */
  constructor(home) {
    this.home = this.current = home;
    this.#known = [home];
  }

  /** A server has said which others there are. @param {string[]} nodes */
  told(nodes) {
    this.#known = [...new Set([this.current, ...nodes.map(addressOf).filter((url) => this.#mayGo(url)), this.home])];
  }

  /** Go where the server says; false for what leads nowhere. @param {string} told @returns {boolean} */
  move(told) {
    const url = addressOf(told);
    if (this.#moves >= MOVES || !this.#mayGo(url)) return false;
    this.current = url;
    this.#moves += 1;
    return true;
  }

  /** What was wanted is at this server. */
  arrived() {
    this.#moves = 0;
  }

  /** Nobody answers there: another one is next. */
  failed() {
    this.#moves = 0;
    this.current = this.#known[(this.#known.indexOf(this.current) + 1) % this.#known.length];
  }

  #mayGo(url) {
    return url.startsWith("wss:") || (url.startsWith("ws:") && this.home.startsWith("ws:"));
  }
}

/** Where the server is reached, as it is to be told to others: `at` of the address, which is an origin, or the origin of this page. @param {string} query @param {string} origin */
export function originToTell(query, origin) {
  const asked = new URLSearchParams(query).get("at");
  try {
    const { protocol, origin: told } = new URL(asked ?? "");
    if (["http:", "https:"].includes(protocol)) return told;
  } catch {
    // None is asked for, or nothing that is an address.
  }
  return origin;
}

/** Whether nobody else gets there by it. @param {string} origin */
export function isOwnMachine(origin) {
  return /^https?:\/\/(localhost|127\.[0-9.]+|\[::1\])(:|$)/.test(origin);
}

export class Connection {
  #socket = null;
  #stood = false;
  // Nothing was heard on it yet, and nobody has been told so.
  #isNew = false;
  #route = new Route(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/`);
  #pause = FIRST_PAUSE_MS;
  // So often in a row a try was given up for want of time.
  #late = 0;
  #retry = null;
  #heardAt = 0;
  #probedAt = null;
  /** The page that the connection is for: it is made while the modules of the page are on their way. @type {Promise<unknown> | null} */
  page = null;
  /** Whether the one who looks on is racing. */
  isRacing = false;

  /** hello(): the first message of a connection. asks(): what goes with it. onUp(welcome): a new connection is up. onMessage(message). onSlow(): there is no word yet on one that was asked for.
   * onLost(): there is none, or none any more. onMoved(): it goes on at another server.
   * onTaken(): another connection of the same player has taken over.
   * @param {{hello: () => import("carpet-wire").Hello, asks: () => import("carpet-wire").ClientMessage[], onUp: (welcome: import("carpet-wire").Welcome) => void, onMessage: (message: import("carpet-wire").ServerMessage) => void,
   *   onSlow: () => void, onLost: () => void, onMoved: () => void, onTaken: () => void}} does */
  constructor({ hello, asks, onUp, onMessage, onSlow, onLost, onMoved, onTaken }) {
    this.hello = hello;
    this.asks = asks;
    this.onUp = onUp;
    this.onMessage = onMessage;
    this.onSlow = onSlow;
    this.onLost = onLost;
    this.onMoved = onMoved;
    this.onTaken = onTaken;
    setInterval(() => this.#watchForSilence(), LOOK_MS);
    addEventListener("online", () => this.tryNow());
    // The machine itself says that it has no network: nothing to wait for.
    addEventListener("offline", () => this.#giveUp());
    // A page that is left by a link is kept for whoever comes back, and an open line with it: to the others they would still be there.
    addEventListener("pagehide", () => this.#giveUp(0));
    addEventListener("pageshow", ({ persisted }) => persisted && this.tryNow());
    // A server that has joined the place since this document was made: a newer one may go there.
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => effectiveDirective === "connect-src" && reload());
  }

  open() {
    this.#retry = null;
    this.#probedAt = null;
    this.#heardAt = performance.now();
    this.#stood = false;
    this.#isNew = true;
    const socket = new WebSocket(this.#route.current, "carpet.v1.json");
    this.#socket = socket;
    socket.onopen = async () => {
      try {
        await this.page;
      } catch {
        // A module of it did not come, and this document may not ask for it again. The server is there: a new one will.
        return reload();
      }
      if (socket === this.#socket) this.#greet();
      else socket.close();
    };
    socket.onmessage = (frame) => socket === this.#socket && this.#hear(frame.data);
    socket.onclose = ({ code }) => socket === this.#socket && (code === TAKEN_OVER ? this.#taken() : this.#lose(code));
  }

  #greet() {
    for (const message of [this.hello(), ...this.asks()]) this.send(message);
  }

  /** Whether it has gone out: without a connection nothing does. @param {import("carpet-wire").ClientMessage} message */
  send(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  /** Begin anew, as somebody else: a guest cannot become a player by the same connection. */
  restart() {
    clearTimeout(this.#retry);
    const socket = this.#socket;
    this.open();
    leave(socket);
  }

  tryNow() {
    if (this.#retry === null) return;
    clearTimeout(this.#retry);
    this.#reach();
  }

  #hear(data) {
    this.#heardAt = performance.now();
    this.#isNew = false;
    let message;
    try {
      message = JSON.parse(data);
    } catch {
      return;
    }
    if (message.type === "welcome") {
      this.#pause = FIRST_PAUSE_MS;
      this.#late = 0;
      this.#stood = true;
      this.#route.told(message.nodes ?? []);
      this.onUp(message);
    } else if (message.type === "nodes") {
      this.#route.told(message.nodes);
    } else if (message.type === "moved" && this.#route.move(message.url)) {
      this.onMoved();
      this.restart();
    } else if (message.ref !== PROBE) {
      if (["room", "watched", "waiting-match"].includes(message.type)) this.#route.arrived();
      if (message.type === "error" && message.code.startsWith("server/") && !this.#stood) {
        // The hello, which the server cannot take for a moment: on the same connection it is said again.
        const socket = this.#socket;
        setTimeout(() => socket === this.#socket && this.#greet(), message.retry_after_ms || HUSH_MS);
      }
      this.onMessage(message);
    }
    this.#probedAt = null;
  }

  #taken() {
    this.#socket = null;
    this.onTaken();
  }

  /** Where the place has others, one of these is asked first. */
  #giveUp(code = LET_GO) {
    if (this.#socket === null) return;
    const socket = this.#socket;
    this.#lose(code);
    // One that opened later on would be open for nobody.
    if (code === LET_GO) socket.close();
    else leave(socket);
  }

  #lose(code = 0) {
    this.#socket = null;
    if (!this.#stood || code === LET_GO) this.#route.failed();
    this.#tryLater();
    this.onLost();
  }

  #tryLater() {
    // Not all at the same moment, when a server comes back.
    const pause = (this.isRacing ? Math.min(this.#pause, RACING_PAUSE_MS) : this.#pause) * (1 + Math.random() / 2);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
    this.#retry = setTimeout(() => this.#reach(), pause);
  }

  /** Open a connection where the server is there. Firefox takes its time for one where others have failed before, and longer each time; a page it
   * fetches at once. Other servers of the place let no page of this one fetch anything. */
  async #reach() {
    const own = this.#retry;
    const isThere = this.#route.current !== this.#route.home || (await answers(this.#longer(RACING_ANSWER_MS), () => this.#wasLate()));
    if (own !== this.#retry) return;
    if (isThere) return this.open();
    this.#route.failed();
    this.#tryLater();
  }

  /** A time that a connection may take, on the line that there is. */
  #longer(ms) {
    return ms * 2 ** this.#late;
  }

  #wasLate() {
    this.#late = Math.min(this.#late + 1, DOUBLINGS);
  }

  #watchForSilence() {
    if (this.#socket === null) return;
    const now = performance.now(), silence = now - this.#heardAt;
    const isOpening = this.#socket.readyState === WebSocket.CONNECTING;
    if (this.#isNew && silence >= SLOW_MS) {
      this.#isNew = false;
      this.onSlow();
    }
    const limit = this.isRacing ? RACING_SILENCE_MS : SILENCE_MS;
    if (silence < (isOpening ? this.#longer(limit) : limit)) return;
    // A server that does not take the connection cannot be asked for a word.
    if (isOpening) {
      this.#wasLate();
      return this.#giveUp();
    }
    if (this.#probedAt === null) {
      this.#probedAt = now;
      // Any answer will do: a player is told their name, and somebody who looks on that they only do.
      this.send({ type: "who-am-i", ref: PROBE });
    } else if (now - this.#probedAt >= (this.isRacing ? RACING_ANSWER_MS : ANSWER_MS)) {
      this.#giveUp();
    }
  }
}

/** Closes a connection that is open. One that is not open yet closes when it opens: browsers report an earlier close as an error. */
function leave(socket) {
  if (socket?.readyState === WebSocket.OPEN) socket.close();
}

/** Whether the page's own server does within `ms`, and not just a proxy in front of it. @param {number} ms @param {() => void} tooSlow */
async function answers(ms, tooSlow) {
  try {
    const { status } = await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(ms) });
    return ![502, 504].includes(status);
  } catch (error) {
    if (error.name === "TimeoutError") tooSlow();
    return false;
  }
}

/** In the form that browsers give it; empty for what is none. */
function addressOf(told) {
  return URL.canParse(told) ? new URL(told).href : "";
}

/** Once, and not again and again; and only what is there: of a server that is gone this document is all there is. */
async function reload() {
  try {
    const before = Number(sessionStorage.getItem(RELOADED));
    if (Date.now() - before < RELOADED_MS || !(await fetch(location.href, { method: "HEAD", cache: "no-store" })).ok) return;
    sessionStorage.setItem(RELOADED, String(Date.now()));
  } catch {
    return;
  }
  location.reload();
}
