// Before a race: the link to give away, who is there and who is ready, the rules.

import { beQuiet, button, clean, clockText, copyText, counted, element, fill, listed, nameOf, setText } from "./dom.js";
import { isOwnMachine } from "./connection.js";
import { seriesName, seriesSentence, wonSentence } from "./series.js";

const NAMED = 2;
/** Watchers see the boards of a rated race so many seconds late, or later. */
const RATED_DELAY_S = 10;

/** Whether a race counts for ratings, and if not, why: in the terminal's words. @param {import("carpet-wire").RaceOptions} options */
export function ratedSentence({ rated, seats, bots, deal, series, delay_s }) {
  const reasons = [
    [!rated, "by the host’s choice"], [seats < 2, "only one seat"], [bots.length, "a house bot takes part"], [deal !== null, "named deal"],
    [series.format === "swap", "two different shuffles"], [delay_s < RATED_DELAY_S, `boards shown within ${RATED_DELAY_S} s`],
  ];
  const because = reasons.find(([is]) => is)?.[1];
  return because ? `Not rated: ${because}.` : "Rated.";
}

/** What holds for a race beside the rules of its game. @param {{options: import("carpet-wire").RaceOptions, seats: any[], series: any}} race */
export function termsText({ options, seats, series }) {
  return [seats.length > 1 ? ratedSentence(options) : "", `At most ${clockText(options.time_limit_s * 1000)}.`, options.winnable ? "The deal can be won." : "",
    options.autoplay ? "" : "No autoplay.", options.series.format === "single" || series ? "" : `A ${seriesName(options.series)}.`].filter(Boolean).join(" ");
}

export class WaitingRoom {
  #race = "";

  /** @param {{ready: () => void, leave: () => void}} does */
  constructor({ ready, leave }) {
    this.invitation = element("code", {});
    this.copy = button("Copy the link", () => copyText(this.copy, this.invitation));
    this.invite = element("p", { class: "command" }, this.invitation, this.copy);
    this.code = element("img", { class: "qr", width: "160", height: "160", alt: "QR code of the link" });
    this.near = element("p", { class: "notice" }, "Only this machine can open this link. Open this page at the address that others use, and make the link there.");
    this.sentence = element("p", { class: "summary" });
    this.seats = element("ul", { class: "seats" });
    this.series = element("p", { hidden: true });
    this.won = element("p", { hidden: true });
    this.terms = element("p", {});
    this.rules = element("p", { class: "explained" });
    this.ready = button("Ready", ready, { class: "main-button" });
    this.leave = button("Leave", leave);
    this.node = element("div", { class: "waiting-room" }, this.sentence, this.invite, this.near, this.code, this.series, this.won, this.seats, this.terms, this.rules,
      element("p", { class: "actions" }, this.ready, this.leave));
  }

  /** left: milliseconds until whoever is not ready loses their seat, or forfeits at a table of a tournament. @param {import("./played.js").PlayedRace} room @param {any} rules @param {number} now @param {number | null} left */
  show(room, rules, now, left) {
    const race = `${room.code} ${room.race}`;
    // This comes at once where the table was, or the way to it.
    if (race !== this.#race && room.race > 1) beQuiet(this.ready, this.leave);
    this.#race = race;
    const free = room.seats.filter((seat) => seat.name === null).length;
    const isReady = room.own?.ready;
    const link = `${location.origin}/play/${encodeURIComponent(room.code)}`;
    // At a table of a tournament nobody else can sit down.
    this.invite.hidden = free === 0 || Boolean(room.tournament);
    setText(this.invitation, link);
    this.near.hidden = this.invite.hidden || !isOwnMachine(location.origin);
    this.code.hidden = this.invite.hidden || !this.near.hidden;
    if (!this.code.hidden && this.code.dataset.of !== link) {
      this.code.dataset.of = link;
      this.code.setAttribute("src", `/qr.svg?of=${encodeURIComponent(link)}`);
    }
    setText(this.sentence, sentence(room, free, isReady, now, left));
    this.sentence.classList.toggle("starting", room.phase === "countdown");
    fill(this.seats, room.seats.map(({ name, bot, ready, away }) => [name, bot, ready, away]), () => room.seats.map((seat) => element("li", { class: seat.ready ? "is-ready" : null },
      seat.name === null ? "open seat" : nameOf(seat.name), seat.bot ? " (bot)" : "", seat.seat === room.seat ? " (you)" : "",
      element("span", { class: "note" }, seat.name === null ? "" : seat.away ? " away" : seat.ready ? " ready" : " not ready yet"))));
    this.series.hidden = !room.series;
    if (room.series) setText(this.series, seriesSentence(room.series, room.phase));
    const won = wonSentence(room);
    this.won.hidden = !won;
    setText(this.won, won);
    setText(this.rules, rules?.explanation ?? "");
    setText(this.terms, termsText(room));
    this.ready.hidden = room.phase !== "waiting" || isReady;
  }
}

/** What is waited for. left: as above. */
export function sentence(room, free, isReady, now, left = null) {
  if (room.phase === "countdown") return `It starts in ${Math.max(1, Math.ceil(room.untilStart(now) / 1000))} …`;
  if (room.tournament) {
    const within = left === null ? "" : ` within ${clockText(left)}`;
    if (!isReady) return within ? `This is your table of the round. Press Ready${within}, or you forfeit.` : "This is your table of the round. Press Ready when you are: whoever is not ready in time forfeits.";
    if (room.seats.every((seat) => seat.ready)) return "Waiting for the other tables: all of the round start at once.";
    return `Waiting for the other player to be ready.${within && ` Whoever is not ready${within} forfeits.`}`;
  }
  if (free) return `Send this link to ${free === 1 ? "the other player" : counted(free, "player")}. Whoever opens it can race you.`;
  if (room.seats.length === 1 && !isReady) return "The clock waits for you. This run counts.";
  if (!isReady) {
    if (left === null) return "Everybody is here. The race starts when all are ready.";
    const ready = room.seats.filter((seat) => seat.ready && !seat.bot).map((seat) => clean(seat.name));
    const waits = ready.length ? `${ready.length > NAMED ? "The others" : listed(ready)} ${ready.length > 1 ? "are" : "is"} ready. ` : "";
    return `${waits}Press Ready within ${clockText(left)}, or you lose your seat.`;
  }
  const late = room.seats.filter((seat) => !seat.ready && seat.name !== null).map((seat) => clean(seat.name));
  const time = left === null ? "" : `, with ${clockText(left)} left`;
  return late.length ? `Waiting for ${late.length > NAMED ? `${late.length} others` : listed(late)} to be ready${time}.` : "Looking for a deal …";
}
