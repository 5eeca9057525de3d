// The line to the server: one WebSocket after another, with growing pauses between them.

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 15000;
// After so long without a word the server is asked for one; without an answer the line is taken for lost.
const SILENCE_MS = 20000;
const ANSWER_MS = 10000;
// The same for somebody whose clock runs.
const RACING_SILENCE_MS = 6000;
const RACING_ANSWER_MS = 6000;
/** The close code of a line whose player has another one now. */
const TAKEN_OVER = 4009;

/** The address of this server for programs. */
export function serverAddress() {
  const isSecure = location.protocol === "https:";
  const port = location.port || (isSecure ? "443" : "80");
  return `${isSecure ? "wss" : "ws"}://${location.hostname}:${port}`;
}

export class Line {
  #socket = null;
  #pause = FIRST_PAUSE_MS;
  #retry = null;
  #heardAt = 0;
  #probedAt = null;
  #wantsLobby = false;
  /** Whether the one who looks on is racing. */
  isRacing = false;

  /** hello(): the first message of a line. onUp(welcome): a new line stands. onMessage(message). onLost(). onTaken(): another line of the same player has taken over. */
  constructor({ hello, onUp, onMessage, onLost, onTaken }) {
    Object.assign(this, { hello, onUp, onMessage, onLost, onTaken });
    setInterval(() => this.#watchForSilence(), 2000);
    addEventListener("online", () => this.tryNow());
    // The machine itself says that it has no network: nothing to wait for.
    addEventListener("offline", () => this.#giveUp());
  }

  open() {
    this.#retry = null;
    this.#probedAt = null;
    this.#heardAt = performance.now();
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/`, "carpet.v1.json");
    this.#socket = socket;
    socket.onopen = () => this.send(this.hello());
    socket.onmessage = (frame) => socket === this.#socket && this.#hear(frame.data);
    socket.onclose = ({ code }) => socket === this.#socket && (code === TAKEN_OVER ? this.#taken() : this.#lose());
  }

  send(message) {
    if (message.type === "follow-lobby") this.#wantsLobby = message.follow !== false;
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** Begin anew, as somebody else: a guest cannot become a player by the same line. */
  restart() {
    clearTimeout(this.#retry);
    const socket = this.#socket;
    this.open();
    socket?.close();
  }

  tryNow() {
    if (this.#retry === null) return;
    clearTimeout(this.#retry);
    this.open();
  }

  #hear(data) {
    this.#heardAt = performance.now();
    let message;
    try {
      message = JSON.parse(data);
    } catch {
      return;
    }
    if (message.type === "welcome") {
      this.#pause = FIRST_PAUSE_MS;
      this.onUp(message);
    } else if (message.type === "lobby" && !this.#wantsLobby) {
      this.#socket.send(JSON.stringify({ type: "follow-lobby", follow: false }));
    } else {
      this.onMessage(message);
    }
    this.#probedAt = null;
  }

  #taken() {
    this.#socket = null;
    this.onTaken();
  }

  #giveUp() {
    if (this.#socket === null) return;
    const socket = this.#socket;
    this.#lose();
    socket.close();
  }

  #lose() {
    this.#socket = null;
    // Not all at the same moment, when a server comes back.
    const pause = this.#pause * (1 + Math.random() / 2);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
    this.#retry = setTimeout(() => this.open(), pause);
    this.onLost();
  }

  #watchForSilence() {
    const now = performance.now();
    if (this.#socket === null || now - this.#heardAt < (this.isRacing ? RACING_SILENCE_MS : SILENCE_MS)) return;
    if (this.#probedAt === null) {
      this.#probedAt = now;
      // Any answer will do, and this is always answered.
      if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ type: "follow-lobby" }));
    } else if (now - this.#probedAt >= (this.isRacing ? RACING_ANSWER_MS : ANSWER_MS)) {
      this.#giveUp();
    }
  }
}
