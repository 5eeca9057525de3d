// The page at `/play` and `/play/CODE`: from a name to a seat, a race and its end. What is shown follows from the player's side of the connection.

import { Call } from "./calling.js";
import { UNSENT } from "./connection.js";
import { choose } from "./dialog.js";
import { against, announce, arrange, button, clean, clockText, element, fill, nameOf, ring, setNotice, setText } from "./dom.js";
import { Elsewhere, askToBe, takenToken } from "./elsewhere.js";
import { Ending, headline, lastSentence, whoAsks } from "./ending.js";
import { checkIn } from "./entering.js";
import { Game } from "./game.js";
import * as keeping from "./identity.js";
import { WatchedRace, byId, cardsOf, endWord, holds } from "./model.js";
import { Player } from "./player.js";
import { hex } from "./sha256.js";
import { NameField, StartForm, otherNameSentence } from "./start.js";
import { WaitingRoom, termsText } from "./waiting.js";

export const PHRASES = {
  hello: "Hello!", "good-luck": "Good luck!", nice: "Nice!", close: "This is close!", ouch: "Ouch!", sorry: "Sorry!",
  "one-moment": "One moment, please.", thanks: "Thank you!", "well-played": "Well played!",
};
const LEFT = {
  left: "You have left the race.",
  "not-ready": "You were not ready in time, and have lost your seat.",
  "no-opponent": "Your opponent did not get ready: you are back at your place in the queue.",
  closed: "That race is closed.",
  idle: "That race was closed because nobody came.",
  failed: "The server could not continue that race.",
  "called-off": "That race was called off. It does not count.",
};

/** `ref` of a line that is said, and of a check-in. */
const SAID = 2;
const CHECKED_IN = 8;
/** So long what was said last is shown in a race. */
const LINE_MS = 8000;

export class PlayPage {
  #rules = new Map();
  #looked = null;
  #frame = null;
  #said = 0;
  #sent = "";
  #endedBecause = "";
  #boardAsked = "";
  #lineUntil = 0;
  #beckons = "";
  /** When a result came to be seen that still is. @type {number | null} */
  #resultAt = null;
  /** Told once more at the seat that they are on their way to. */
  #otherName = "";

  /** code: of a race to take a seat in; null to choose one. @param {import("./connection.js").Connection} connection @param {string | null} code */
  constructor(connection, code) {
    this.connection = connection;
    this.code = code;
    document.title = "Play · Carpet Race";
    this.player = new Player(connection, keeping, {
      tell: (kind, about) => this.#told(kind, about),
      random: () => crypto.getRandomValues(new Uint8Array(16)),
      later: (act, ms) => setTimeout(act, ms),
    });
    const { player } = this;
    // From the page of a tournament: the seat is theirs.
    if (code && location.hash === "#sit" && keeping.identity.token) player.wish = { type: "join-race", code };
    // On its way to another server the document may have to be loaded anew.
    if (code && keeping.pressed.take() === code) {
      player.wish = { type: "join-race", code };
      player.isEager = true;
    }
    addEventListener("pagehide", () => keeping.pressed.keep(player.pressed));
    this.heading = element("h1", {}, "Play");
    this.facts = element("p", { class: "facts" });
    // In a race it stands for a moment where the facts do: anywhere else it would move the table or its buttons, or be below the fold.
    this.lastLine = element("p", { class: "facts last-line", hidden: true });
    this.clock = element("p", { class: "clock", role: "timer", "aria-label": "Time", hidden: true });
    this.notice = element("p", { class: "notice", role: "status", hidden: true });
    this.forgetful = keeping.isForgetful()
      ? element("p", { class: "notice forgetful" }, "This browser lets the page keep nothing. If you load it anew or close it, you lose your seat and your name.") : null;
    this.name = new NameField(keeping.identity.name ?? keeping.proposedName(), (name) => this.#ask({ type: "rename", name, token: keeping.identity.token }));
    this.start = new StartForm((wish) => this.#wish(wish), () => hex(this.player.random()));
    this.take = button("Ready", () => this.#wish({ type: "join-race", code: this.code }, { isEager: true }), { class: "main-button" });
    this.terms = element("p", {});
    this.lookedRules = element("p", { class: "explained" });
    this.elsewhere = element("p", { class: "actions", role: "status", hidden: true });
    this.former = element("p", { class: "actions" });
    this.call = new Call(connection);
    this.due = element("p", { class: "notice actions", role: "status", hidden: true });
    this.back = element("p", { class: "actions became", hidden: true }, this.became = element("span", {}), this.toTournament = element("a", {}, "To the tournament"));
    this.look = element("div", { class: "waiting-room" }, this.terms, this.lookedRules, element("p", { class: "actions" }, this.take));
    this.stopLooking = button("Stop looking", () => this.#ask({ type: "quick-match", cancel: true }));
    this.looking = element("div", {}, this.lookingText = element("p", { class: "summary", role: "status" }), element("p", { class: "actions" }, this.stopLooking));
    const leave = () => { if (player.room?.givesUpSeries) this.game.leave(); else player.send({ type: "leave-race" }); };
    this.waiting = new WaitingRoom({ ready: () => { player.ready(); this.#soon(); }, leave });
    this.text = element("input", { id: "say", maxlength: "200", autocomplete: "off", placeholder: "Say something", "aria-label": "Say something" });
    this.phrase = button("Say …", () => this.#choosePhrase());
    this.lines = element("ul", { class: "lines" });
    this.talk = element("section", { class: "talk", "aria-label": "What is said" }, this.lines, this.phrase, this.text);
    this.game = new Game(player, () => this.#choosePhrase());
    this.ending = new Ending({ again: () => { if (player.room.isToBegin) player.ready(); else player.again(performance.now()); this.#soon(); }, leave });
    this.goOn = new Elsewhere();
    this.here = button("Go on here", () => { this.here.hidden = true; this.notice.hidden = true; connection.open(); }, { class: "main-button" });
    this.here.hidden = true;
    this.parts = element("div", { class: "parts" });
    this.node = element("div", { class: "play" }, element("div", { class: "title" }, element("div", {}, this.heading, this.facts, this.lastLine), this.clock),
      this.notice, this.forgetful, this.here, this.elsewhere, this.call.node, this.due, this.back, this.parts, this.goOn.node);
    const token = takenToken();
    if (token && token !== keeping.identity.token) askToBe(() => this.#be(token));
    this.text.addEventListener("keydown", (event) => event.key === "Enter" && this.#say({ text: this.text.value }));
    this.text.addEventListener("keydown", (event) => event.key === "Escape" && this.text.blur());
    // Also of a tab that is looked at again: its window has the focus then.
    addEventListener("focus", () => this.#beckon(""));
    setInterval(() => this.#tick(), 250);
  }

  /** Call back whoever looks at something else, by a tone and the title; empty once they are back. */
  #beckon(words) {
    if (words && document.visibilityState === "visible" && document.hasFocus()) return;
    if (words && keeping.settings.rings) ring();
    if (this.#beckons === words) return;
    this.#beckons = words;
    // In a tab that nobody sees no frame is drawn.
    if (words) document.title = `${words} · Carpet Race`;
    else this.#soon();
  }

  hello() {
    return this.player.hello();
  }

  /** @param {import("carpet-wire").Welcome} welcome */
  up(welcome) {
    this.#rules = byId(welcome.rules);
    this.start.show(welcome);
    const { token, name } = keeping.identity;
    this.call.up(welcome.player);
    const isOnTheWay = this.player.up(welcome, this.code);
    if (!token && this.player.isPlayer) this.#note(this.#otherName = otherNameSentence(name, welcome.name));
    this.name.show(this.player.isPlayer ? this.player.name : null);
    if (!isOnTheWay && this.code) this.connection.send({ type: "watch-race", code: this.code });
    this.#offerElsewhere();
    this.#soon();
  }

  lost() {
    this.player.lost();
    this.call.lost();
    this.due.hidden = true;
    this.#soon();
  }

  taken() {
    this.player.lost();
    this.call.lost();
    // Nobody is taken anywhere from here.
    this.call.up("");
    this.#note("You are playing in another window. A player can have only one.");
    this.here.hidden = false;
    this.#soon();
  }

  /** @param {import("carpet-wire").ServerMessage} message */
  hear(message) {
    const now = performance.now();
    // Whatever it was refused for: the seat may not have come back yet.
    if (message.type === "error" && message.ref === SAID) this.text.value ||= this.#sent;
    this.call.hear(message, now);
    if (message.type === "called") this.#beckon("Your table waits");
    if (message.type === "check-in-due") this.#checkInDue(message);
    else if (message.type === "runs") this.ending.showRuns(message, this.#rules.get(message.rules), this.player.room?.ghosts ?? []);
    else if (message.type === "challenge") location.assign(`/challenge/${encodeURIComponent(message.challenge.id)}`);
    else if (message.type === "decided" && message.ref !== CHECKED_IN) location.assign(`/tournament/${encodeURIComponent(message.id)}`);
    else if (!this.player.hear(message, now)) this.#look(message, now);
    this.#soon();
  }

  #wish(message, options) {
    const { identity } = keeping;
    if (!identity.token) identity.propose(this.name.value || keeping.proposedName());
    this.notice.hidden = true;
    this.call.dismiss();
    this.player.want(message, options);
    this.#soon();
  }

  /** What is not asked again by itself. Whether it has gone out. */
  #ask(message) {
    const isSent = this.connection.send(message);
    if (isSent) return true;
    // The notice stands above the table, and would move it.
    if (this.player.room?.phase === "racing") this.game.note(UNSENT);
    else this.#note(UNSENT);
    return false;
  }

  #choosePhrase() {
    // Against bots, or alone, nobody would hear it.
    if (!this.talk.isConnected) return;
    // Behind the dialog the next key is one for the table, and does not open it once more: the focus would come back to the button.
    if (this.player.room?.phase === "racing") this.phrase.blur();
    choose("Say", Object.values(PHRASES), (at) => this.#say({ phrase: Object.keys(PHRASES)[at] }));
  }

  #say(what) {
    const isSaid = !(what.phrase || what.text?.trim()) || this.#ask({ type: "say", code: this.player.room?.code, ref: what.text ? SAID : 0, ...what });
    // What could not be said is kept, so that it need not be typed again.
    if (isSaid && what.text) {
      this.#sent = what.text;
      this.text.value = "";
    }
  }

  #note(text) {
    setNotice(this.notice, text);
  }

  // ---- what is heard

  #told(kind, about) {
    switch (kind) {
      case "room":
        this.code = this.player.room.code;
        this.#looked = null;
        this.#note(this.#otherName);
        this.#otherName = "";
        this.elsewhere.hidden = true;
        if (this.player.room.tournament) keeping.tables.keep(this.code);
        history.replaceState(null, "", `/play/${encodeURIComponent(this.code)}`);
        if (!about.isNew) break;
        announce("You have a seat.");
        this.#beckon("You have a seat");
        break;
      case "left":
        this.#left(about);
        this.#endedBecause = "";
        this.code = null;
        history.replaceState(null, "", "/play");
        break;
      case "refused":
        this.#refused(about);
        break;
      case "waiting":
        if (about.type === "waiting-over" && about.reason === "failed") this.#note("No race could be opened.");
        break;
      case "elsewhere":
        this.#offerElsewhere();
        break;
      case "named":
        this.name.show(this.player.name);
        break;
      case "unknown":
        this.#note(`The server no longer knows you as ${clean(about)}. Your key to that name stays in this browser: try it again, or play as somebody new.`);
        break;
      case "note":
        this.game.note(about);
        break;
      case "refusedPress":
        this.game.refuse(about);
        break;
      case "moved":
        this.#drawGame();
        if (about?.glides) this.game.table?.glide(about.glides);
        break;
      case "event":
        // It would take its line from the table, and hold it.
        if (about.type === "dealt") this.#note("");
        if (about.type === "view" && about.state === "won") this.game.table?.fall(about.view.foundations);
        this.#announce(about);
        break;
    }
  }

  #left({ reason, room }) {
    const isByThemselves = reason === "left";
    const isDecided = reason === "called-off" && room?.tournament;
    this.#note(isDecided ? "" : (reason === "closed" && this.#endedBecause) || (LEFT[reason] ?? "You are no longer in a race."));
    this.#resultAt = isByThemselves ? null : performance.now();
    if (!room?.tournament || (isByThemselves && room.isToBegin)) return;
    this.call.closed(room);
    // It may be raced once more.
    if (!isByThemselves) keeping.tables.keep(room.code, false);
  }

  #refused(error) {
    const { room } = this.player;
    if (holds(error)) this.#looked?.hold(error.message, performance.now());
    if (error.code === "room/ended-by-host") this.#endedBecause = clean(error.message);
    if (room?.phase === "racing") return this.game.note(clean(error.message));
    if (error.code === "watch/own-race") return;
    this.#note(error.code === "room/no-such-code" ? "No race has that code now. Ask for a new code, or start another race." : clean(error.message));
    if (["room/no-such-code", "room/full", "room/closed", "room/not-invited"].includes(error.code) && !room) {
      this.#looked = null;
      this.code = error.code === "room/no-such-code" ? null : this.code;
    }
  }

  /** Of a race in which one has no seat yet. */
  #look(message, now) {
    if (message.type === "watched") this.#looked = new WatchedRace(message, now);
    else if (message.type === "watched-event" && this.#looked && !this.#looked.apply(message.event, now)) this.connection.send({ type: "watch-race", code: this.code });
    else if (message.type === "unwatched" && message.reason !== "seated") this.#looked = null;
  }

  /** A check-in waits for them, wherever they are; or no longer does. */
  #checkInDue({ id, name, commitment, left_ms: left }) {
    if (left === null && id !== this.due.dataset.id) return;
    this.due.hidden = left === null;
    this.due.dataset.id = id;
    this.due.replaceChildren(`The check-in of ${clean(name)} is open. Without it you are left out. `,
      button("Check in", () => this.#ask({ ...checkIn(id, commitment), ref: CHECKED_IN })));
  }

  /** From a table back to its tournament, with what became of the one before. */
  #showBack(room) {
    const { became } = this.call;
    const tournament = room ? room.tournament : became?.id;
    this.back.hidden = !tournament || room?.phase === "racing";
    if (this.back.hidden) return;
    setText(this.became, became?.id === tournament ? became.sentence : "");
    this.toTournament.setAttribute("href", `/tournament/${encodeURIComponent(tournament)}`);
  }

  #announce(event) {
    const { room } = this.player;
    if (event.type === "countdown") {
      announce("Everybody is ready. It starts in a moment.", { isUrgent: true });
      this.#beckon("It starts");
    } else if (event.type === "seated") this.#beckon(`${clean(event.name)} is here`);
    else if (event.type === "started") announce("Go.", { isUrgent: true });
    else if (event.type === "progress" && event.seat !== room.seat) {
      const name = clean(room.seats[event.seat].name);
      const word = endWord(room.seats[event.seat], room.seats);
      if (word) announce(`${name}: ${word}, ${event.home} cards home.`);
      else announce(`${name} ${event.home} cards home.`, { isCount: true });
    } else if (event.type === "said") this.#hearLine(event.line, room);
    else if (["result", "ended"].includes(event.type)) {
      this.game.end();
      announce(`The race is over. ${headline(room.ended, room.seat)}`, { isUrgent: true });
    } else if (event.type === "rematch-asked" && event.seat !== room.seat && !room.own?.again) {
      const sentence = `${clean(room.seats[event.seat].name)} would like to race again`;
      announce(`${sentence}.`);
      this.#beckon(sentence);
    } else if (room.phase === "over" && (event.type === "unseated" || (event.type === "presence" && !event.connected))) {
      // It may have been they who asked for another race.
      this.#beckon("");
      const sentence = whoAsks(room);
      if (sentence) announce(sentence);
    }
  }

  /** Said to ears, and in a race to eyes as well: what is said stands below the fold of a phone. */
  #hearLine(line, room) {
    if (line.seat !== room.seat) announce(`${clean(line.name)}: ${clean(line.text)}`);
    this.lastLine.replaceChildren(...lineNodes(line));
    this.#lineUntil = performance.now() + LINE_MS;
  }

  /** Who this browser was before the server forgot them. */
  #offerFormer(parts) {
    const { former } = keeping.identity;
    fill(this.former, former, () => ["You have played here under another name. ",
      ...former.map(({ token, name }) => button(`Be ${clean(name)} again`, () => this.#resume(token)))]);
    if (former.length) parts.splice(1, 0, this.former);
  }

  #be(token) {
    keeping.identity.take(token);
    this.player.room = null;
    this.connection.restart();
  }

  #resume(token) {
    this.#note("");
    keeping.identity.resume(token);
    this.connection.restart();
  }

  #offerElsewhere() {
    const { elsewhere: code, last } = this.player;
    this.elsewhere.hidden = !(code || last) || Boolean(this.player.room);
    if (this.elsewhere.hidden) return;
    const told = last ? [lastSentence(last), whoAsks(last)].filter(Boolean).join(" ") : "";
    fill(this.elsewhere, [last?.code, told, code], () => (last
      ? [told ? `${told} ` : null, element("a", { href: `/play/${encodeURIComponent(last.code)}` }, "Back to your last race")].filter(Boolean)
      : [`You hold a seat in race ${clean(code)}. `, button("Go on there", () => this.player.goOnElsewhere() || this.#note(UNSENT)), button("Leave it", () => this.#ask({ type: "leave-race" }))]));
  }

  // ---- drawing

  #soon() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      this.#show();
    });
  }

  #drawGame() {
    const { room } = this.player;
    if (room?.view) this.game.show(this.#rules.get(room.options.rules));
  }

  #show() {
    const { player } = this;
    const { room } = player;
    const looked = this.#looked;
    const isOver = room !== null && room.ended.length > 0;
    this.connection.isRacing = room?.phase === "racing";
    const isSeated = room !== null;
    const canSit = !looked || (looked.phase === "waiting" && looked.seats.some((seat) => seat.name === null));
    const parts = isSeated ? [] : player.waiting ? [this.looking] : this.code ? [...(canSit ? [this.name.node] : []), ...(looked ? [this.look] : [])] : [this.name.node, this.start.node];
    if (!isSeated && !player.waiting) this.#offerFormer(parts);
    const finished = isOver || room?.showsLast ? room.finished : null;
    if (finished) parts.push(this.ending.node);
    // What is next waits below the fold of a phone, unless somebody is to be invited to it.
    if (room?.isToBegin && (!finished || room.seats.some((seat) => seat.name === null))) parts.push(this.waiting.node);
    if (room?.view && ["racing", "over"].includes(room.phase)) parts.push(this.game.node);
    if (room?.seats.some((seat) => seat.seat !== room.seat && !seat.bot)) parts.push(this.talk);
    arrange(this.parts, parts);
    this.goOn.show(player.isPlayer ? keeping.identity.token : null, player.name);
    document.body.classList.toggle("racing", room?.phase === "racing");
    this.clock.hidden = room?.phase !== "racing";
    this.#showBack(room);
    if (!room) this.#showStart(looked);
    else this.#showRoom(room, finished);
    this.#tick();
  }

  #showStart(looked) {
    if (this.player.waiting) {
      const { waiting, window: range } = this.player.waiting;
      const others = waiting > 1 ? `${waiting - 1} ${waiting === 2 ? "other is" : "others are"} looking too` : "nobody else is looking right now";
      setText(this.lookingText, `Looking for an opponent${range === null ? "" : ` within ${range} points`}; ${others}.`);
    }
    if (!this.code || !looked) {
      setText(this.heading, this.code ? "A race" : "Play");
      setText(this.facts, this.code ? "Looking …" : "");
      return;
    }
    const rules = this.#rules.get(looked.options.rules);
    const seated = looked.seats.filter((seat) => seat.name !== null);
    const free = looked.seats.length - seated.length;
    this.heading.replaceChildren("Race ", ...(seated.length ? against(seated.map((seat) => seat.name), [], " and ") : ["at this table"]));
    setText(this.facts, `Code ${clean(looked.code)} · ${clean(rules?.name ?? "")}`);
    const isOpen = free > 0 && looked.phase === "waiting";
    this.terms.hidden = !isOpen;
    setText(this.terms, termsText(looked));
    setText(this.lookedRules, rules?.explanation ?? "");
    this.take.hidden = !isOpen || !this.player.isOnline;
    if (!isOpen) {
      this.#note("");
      this.lookedRules.replaceChildren(looked.phase === "over" ? "That race is over. " : "Every seat of that race is taken. ",
        element("a", { href: `/watch/${encodeURIComponent(looked.code)}` }, looked.phase === "over" ? "See how it went" : "Watch it"));
    }
  }

  #showRoom(room, finished) {
    const rules = this.#rules.get(room.options.rules);
    const others = room.seats.filter((seat) => seat.seat !== room.seat);
    const known = others.filter((seat) => seat.name !== null);
    const title = known.length ? ["Against ", ...against(known.map((seat) => seat.name), [], " and ")] : [others.length ? "Your race" : "A run alone"];
    this.heading.replaceChildren(...title);
    document.title = this.#beckons ? `${this.#beckons} · Carpet Race` : `${others.map((seat) => clean(seat.name ?? "…")).join(", ") || clean(rules?.name ?? "")} · Carpet Race`;
    const cards = cardsOf(rules);
    if (room.isToBegin) this.#showWaiting(room, rules, performance.now());
    if (room.view && ["racing", "over"].includes(room.phase)) this.#drawGame();
    if (finished) {
      const seen = keeping.proofs.find(room.code, finished.race, finished.record?.deal.commitment ?? room.commitment);
      if (room.ended.length) this.#askForBoard(room);
      // Whoever became another player of this race has seen nothing from their seat.
      this.ending.show(room, finished, cards, rules?.decks ?? 1, seen?.seat === room.seat ? seen : null);
    }
    const isQuiet = room.phase === "racing" || Boolean(room.tournament);
    this.text.hidden = isQuiet;
    if (this.#said !== room.linesHeard) {
      this.#said = room.linesHeard;
      this.lines.replaceChildren(...room.lines.slice(-8).map((line) => element("li", {}, ...lineNodes(line))));
      this.lines.scrollTop = this.lines.scrollHeight;
    }
  }

  /** Behind one's own run of a deal that others run too: how it stands to theirs. */
  #askForBoard({ shared, code, race, options }) {
    const asked = `${code} ${race}`;
    if (!shared || shared.kind === "round" || this.#boardAsked === asked) return;
    if (this.connection.send({ type: "list-runs", kind: shared.kind, id: shared.id, rules: options.rules })) this.#boardAsked = asked;
  }

  #showWaiting(room, rules, now) {
    this.waiting.show(room, rules, now, this.call.left(room.code, now) ?? room.readyLeft(now));
  }

  #tick() {
    const { room } = this.player;
    const now = performance.now();
    this.call.show(this.code, room, now);
    if (room) this.#resultAt = room.phase === "over" ? this.#resultAt ?? now : null;
    if (room ? room.phase === "over" && room.tournament : !this.player.isOnTheWay) this.call.follow(this.code, this.#resultAt, now);
    this.facts.hidden = room?.phase === "racing" && now < this.#lineUntil;
    this.lastLine.hidden = !this.facts.hidden;
    if (!room) return;
    const limit = room.options.time_limit_s * 1000;
    const rules = this.#rules.get(room.options.rules);
    setText(this.facts, `Code ${clean(room.code)} · ${clean(rules?.name ?? room.options.rules)}${room.watchers ? ` · ${room.watchersText}` : ""}`);
    const elapsed = room.elapsed(now);
    setText(this.clock, elapsed < 0 ? `starts in ${Math.ceil(-elapsed / 1000)}` : `${clockText(Math.min(elapsed, limit))} / ${clockText(limit)}`);
    if (room.isToBegin) this.#showWaiting(room, rules, now);
  }
}

/** Who has said what. @param {{name: string, text: string}} line */
function lineNodes({ name, text }) {
  return [nameOf(name), ": ", element("bdi", {}, clean(text))];
}
