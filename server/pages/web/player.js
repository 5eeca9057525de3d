// A player's side of the connection: who they are, what they want and the room they are in; what they do there is `hand.js`. Draws nothing.
//
// Whatever a lost connection may have swallowed is said again once the race is joined again, each move for its own ply, so that none is ever played twice.

import { HUSH_MS, playerHello, watcherHello } from "./connection.js";
import { Hand } from "./hand.js";
import { dealtChips } from "./moves.js";
import { holds } from "./model.js";
import { PlayedRace } from "./played.js";
import { hex } from "./sha256.js";

/** `ref` of the joins that are made here: back to a seat, and to see what has become of it. */
const REJOIN = 1;
const PEEK = 3;
/** Whoever asks for another race is taken to be there, and ready for it, for so long. */
const ASKED_STANDS_MS = 30_000;

export class Player extends Hand {
  /** What is asked for once there is a player: a message. */
  wish = null;
  /** Ready as soon as there is a seat. */
  isEager = false;
  waiting = null;
  /** The code of a race that is under way, where a seat is held still. @type {string | null} */
  elsewhere = null;
  /** The same of a race that is over: the others may ask for another one. @type {PlayedRace | null} */
  last = null;
  #asked = new Map();
  #nonce = null;
  #isBehind = false;

  /** tell(kind, about): "room", "left", "refused", "waiting", "note", "moved", "result", "proof" … to whoever draws. random(): 16 bytes.
   * @param {{send: (message: import("carpet-wire").ClientMessage) => boolean, restart: () => void}} connection @param {typeof import("./identity.js")} keeping @param {{tell: (kind: string, about?: any) => void, random: () => Uint8Array, later: (act: () => void, ms: number) => void}} ports */
  constructor(connection, keeping, { tell, random, later }) {
    super(connection, tell);
    this.keeping = keeping;
    this.random = random;
    this.later = later;
  }

  /** The first message of each connection. @returns {import("carpet-wire").Hello} */
  hello() {
    const { token, name } = this.keeping.identity;
    // Who has no seat yet, and asks for none, only looks.
    if (!token && !this.wish && !this.room) return watcherHello();
    return playerHello(name ?? this.keeping.proposedName(), token);
  }

  /** A connection is up. True where the player is led back to their room, or asks for what they wished: then there is nothing else to ask for. */
  up(welcome, code) {
    this.isOnline = true;
    this.isPlayer = welcome.player !== "";
    if (!this.isPlayer) return false;
    this.name = welcome.name;
    this.rating = welcome.rating;
    this.keeping.identity.keep(welcome.token, welcome.name);
    if (this.room) {
      // Of several servers this may be one that does not know: the answer to the join says where the room is, or that it is not.
      if (welcome.room === this.room.code || (!welcome.room && welcome.nodes?.length)) this.rejoin();
      else this.#gone("closed");
      return true;
    }
    if (welcome.room && code === welcome.room) {
      this.send(this.wish = { type: "join-race", code: welcome.room });
      return true;
    }
    this.elsewhere = this.last = null;
    // Somebody who holds a seat in another race: it is looked at, and left by itself where it is over. Who asked for no race is led to it, unless it is.
    this.#peeks = welcome.room;
    this.#isFree = !code;
    if (welcome.room) this.connection.send({ type: "join-race", code: welcome.room, ref: PEEK });
    else if (this.wish) this.send(this.wish);
    return Boolean(welcome.room ? this.#isFree : this.wish);
  }

  /** Whether a seat is held in a race that is under way, or asked for, and they are not in its room yet. */
  get isOnTheWay() {
    return Boolean(this.elsewhere || (this.#peeks && !this.last) || (this.wish && !this.waiting));
  }

  /** Back to the seat that is held in another race than the one that was asked for. Whether it could be asked for. */
  goOnElsewhere() {
    const isSent = this.connection.send({ type: "join-race", code: this.elsewhere });
    if (isSent) this.#peeks = null;
    return isSent;
  }

  #peeks = null;
  #isFree = false;

  #peeked(message, now) {
    if (message.type === "room") {
      const isDone = message.phase === "over" && (message.series === null || message.series.over);
      if (!isDone && this.#isFree) {
        this.#peeks = null;
        this.#takeRoom(message, now);
        return true;
      }
      if (!isDone) this.elsewhere = message.code;
      else if (this.#isFree && !this.wish) this.last = new PlayedRace(message, now);
      else this.connection.send({ type: "leave-race" });
    } else {
      this.#peeks = this.elsewhere = this.last = null;
      if (this.wish) this.send(this.wish);
    }
    this.tell("elsewhere");
    return true;
  }

  #heardOfLast(event, now) {
    if (this.last.apply(event, now)) this.tell("elsewhere");
    else this.connection.send({ type: "join-race", code: this.last.code, ref: PEEK });
    return true;
  }

  lost() {
    this.isOnline = false;
    this.#isBehind = false;
    this.takeBack();
  }

  send(message) {
    if (["ready", "stop", "resign", "rematch", "leave-race"].includes(message.type)) this.#asked.set(message.type, message);
    this.connection.send(message);
  }

  /** Ask for a seat, or to look for somebody: at once, or when there is a player. */
  want(message, { isEager = false } = {}) {
    this.wish = message;
    this.isEager = isEager;
    // A seat that is still held elsewhere has to be left first.
    if (this.last) {
      this.last = null;
      return this.connection.send({ type: "leave-race" });
    }
    if (this.#peeks) return this.elsewhere && this.tell("elsewhere");
    if (this.isPlayer) this.connection.send(message);
    else this.connection.restart();
  }

  /** The race in which Ready was pressed and nobody has answered yet, by its code. @returns {string | null} */
  get pressed() {
    if (this.room) return this.#asked.has("ready") ? this.room.code : null;
    return this.isEager && this.wish?.type === "join-race" ? this.wish.code : null;
  }

  rejoin(version = this.room.view ? this.room.version : 0) {
    if (this.#isBehind) return;
    this.#isBehind = true;
    this.connection.send({ type: "join-race", code: this.room.code, version, ref: REJOIN });
  }

  // ---- what is heard

  /** @param {import("carpet-wire").ServerMessage} message @param {number} now @returns {boolean} whether it was about the room or a wish */
  hear(message, now) {
    if (this.#peeks && (message.type === "room" || message.type === "left") && message.code === this.#peeks) return this.#peeked(message, now);
    if (this.last && message.type !== "room" && "version" in message) return this.#heardOfLast(message, now);
    switch (message.type) {
      case "room":
        this.#takeRoom(message, now);
        return true;
      case "current-view":
        if (!this.room) return true;
        this.changeView(() => this.room.takeCurrent(message));
        this.settle();
        if (this.#isBehind) this.#back();
        return true;
      case "watchers":
        if (message.code === this.room?.code) this.room.takeWatchers(message.count, message.whole);
        return true;
      case "left":
        if (!this.room || message.code === this.room.code) this.#gone(message.reason);
        return true;
      case "waiting-match":
      case "waiting-over":
        this.waiting = message.type === "waiting-match" ? message : null;
        // Also where the server has put them back: a lost connection ends the waiting.
        this.wish = this.waiting && { type: "quick-match", rules: this.waiting.rules };
        this.tell("waiting", message);
        return true;
      case "you-are":
        this.name = message.name;
        this.keeping.identity.keep(this.keeping.identity.token, message.name);
        this.tell("named");
        return true;
      case "error":
        this.#refused(message, now);
        return true;
      default:
        return this.room !== null && "version" in message && this.#event(message, now);
    }
  }

  #takeRoom(message, now) {
    const before = this.room;
    if (before && before.code === message.code) before.apply(message, now);
    else this.room = new PlayedRace(message, now);
    this.wish = null;
    this.waiting = null;
    this.elsewhere = this.last = null;
    if (!before || before.code !== message.code || this.#race !== message.race) {
      this.#asked.clear();
      this.drop();
      this.chips = [];
    }
    this.#race = message.race;
    if (this.room.view) this.chips = dealtChips(this.chips, this.room.view);
    this.tell("room", { isNew: before?.code !== message.code });
    this.settle();
    this.#back();
    if (this.isEager || (message.phase === "waiting" && now < this.#readyBy)) this.ready();
  }

  #readyBy = 0;

  #race = 0;

  #event(event, now) {
    if (event.version > this.room.version + 1) {
      this.rejoin();
      return true;
    }
    this.changeView(() => this.room.apply(event, now));
    if (event.type === "dealt") {
      this.#sawFirst();
      this.later(() => this.settle(), event.starts_in_ms + 1);
    }
    if (["player-ready", "countdown", "dealt"].includes(event.type) && this.room.own?.ready !== false) this.#asked.delete("ready");
    if (["result", "ended"].includes(event.type)) {
      this.#asked.clear();
      this.inFlight = null;
    }
    this.tell("event", event);
    this.settle();
    return true;
  }

  settle() {
    if (!this.room?.isRacing) for (const type of ["stop", "resign"]) this.#asked.delete(type);
    super.settle();
  }

  /** Joined again: whatever was not answered by now was never heard. */
  #back() {
    const wasBehind = this.#isBehind;
    this.#isBehind = false;
    if (!wasBehind) return;
    if (this.inFlight && this.room.isRacing) this.connection.send(this.inFlight);
    if (this.#asked.has("ready") && (this.room.phase !== "waiting" || this.room.own?.ready)) this.#asked.delete("ready");
    for (const message of this.#asked.values()) if (message.type === "leave-race" || message.race === this.room.race) this.connection.send(message);
  }

  #gone(reason) {
    const { room } = this;
    this.room = null;
    this.drop();
    this.#asked.clear();
    this.#isBehind = false;
    this.#readyBy = 0;
    this.tell("left", { reason, room });
  }

  #refused(error, now) {
    if (error.code === "hello/unknown-token") {
      const { name } = this.keeping.identity;
      this.keeping.identity.forget();
      this.room = null;
      // Nobody becomes somebody new without having been told.
      this.wish = null;
      this.isEager = false;
      this.connection.send(this.hello());
      this.tell("unknown", name);
      return;
    }
    const isGreeted = this.isOnline && (this.isPlayer || !this.wish);
    if (!isGreeted && error.code.startsWith("server/")) {
      // Their hello, which the connection says again.
      this.tell("refused", error);
      return;
    }
    if (error.code === "wire/too-fast") {
      // It dropped what it was told, and nobody knows which: after a pause the race is joined anew.
      this.later(() => this.room && this.isOnline && (this.#isBehind = false, this.rejoin(0)), HUSH_MS);
      return;
    }
    if (error.ref === REJOIN && this.room) {
      // Nobody has the race for a moment: its server is gone, or is catching up.
      if (error.code === "server/busy") this.later(() => this.room && this.isOnline && (this.#isBehind = false, this.rejoin()), error.retry_after_ms || HUSH_MS);
      else this.#gone("closed");
      return;
    }
    if (error.ref === PEEK) {
      this.#peeks = null;
      // The seat that the server named is gone by now, so it stands in the way of nothing.
      if (this.wish && ["room/no-such-code", "room/closed"].includes(error.code)) {
        this.send(this.wish);
        return;
      }
    }
    // The move that was on its way, if it was one, is not played, and nothing more is to come of it.
    if (error.code.startsWith("race/")) {
      this.inFlight = null;
      this.takeBack();
    }
    if (holds(error)) this.room?.hold(error.message, now);
    // The answer to who joins has to wait until the server can write, and comes then.
    const waits = error.code === "server/cannot-write" && this.wish?.type === "join-race";
    if (this.wish && !this.room && !waits) {
      // Also where they had looked on the connection before: the server has forgotten that.
      if (this.wish.type === "quick-match") this.waiting = null;
      this.wish = null;
      this.isEager = false;
    }
    this.tell("refused", error);
  }

  // ---- what the player does

  /** Another race against the same players: whoever asks is ready for it, unless the others take long to agree. @param {number} now */
  again(now) {
    this.#readyBy = now + ASKED_STANDS_MS;
    this.send({ type: "rematch", race: this.room.race });
  }

  ready() {
    this.isEager = false;
    this.#readyBy = 0;
    const { room } = this;
    if (room?.phase !== "waiting" || room.own?.ready) return;
    // The second race of a swap has the nonces of the first.
    const isSecond = room.options.series.format === "swap" && room.series?.raced === 1;
    const earlier = this.keeping.proofs.find(room.code, isSecond ? room.race - 1 : room.race, room.commitment);
    this.#nonce = earlier?.nonce ?? hex(this.random());
    this.keeping.proofs.keep(room.code, room.race, { commitment: room.commitment, nonce: this.#nonce, seat: room.seat, winnable: room.options.winnable, first: null });
    this.send({ type: "ready", race: room.race, nonce: this.#nonce });
  }

  #sawFirst() {
    const { room } = this;
    const known = this.keeping.proofs.find(room.code, room.race, room.commitment);
    if (known) this.keeping.proofs.keep(room.code, room.race, { ...known, first: room.view });
  }
}
