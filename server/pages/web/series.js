// A series of races between the same players: what it is called, how it stands, in words and as a table.

import { capitalised, clean, counted, element, listed, nameOf, setText } from "./dom.js";

/** "best of 3", "session of 5", "swap"; nothing for a single race. @param {import("carpet-wire").SeriesOptions} options */
export function seriesName({ format, races }) {
  return { "best-of": `best of ${races}`, session: `session of ${races}`, swap: "swap" }[format] ?? "";
}

/** How the series stands, in one sentence. phase: of its race that is open. own: the reader's seat, whose points are told first. @param {number | null} own */
export function seriesSentence(series, phase, own = null) {
  const name = seriesName(series);
  const title = capitalised(name);
  const gone = series.seats.filter((seat) => seat.gone).map((seat) => clean(seat.name));
  const left = gone.length ? `${listed(gone)} gave up the series. ` : "";
  if (series.over) {
    if (gone.length === series.seats.length) return `${left}The score was ${score(series, own)}.`;
    const first = series.seats.filter((seat) => seat.place === 1 && !seat.gone);
    const winner = first.length !== 1 ? "" : first[0] === series.seats[own] ? "You have" : `${clean(first[0].name)} has`;
    return `${left}${winner ? `${winner} won the ${name}` : `The ${name} is a draw`}: ${score(series, own)}.`;
  }
  const coming = series.raced + 1;
  const when = { waiting: "is next", countdown: "is about to start", racing: "is being run", over: "is over" }[phase] ?? "";
  return series.raced === 0 ? `${title}. Race 1 ${when}.` : `${title}: ${score(series, own)}. Race ${phase === "over" ? series.raced : coming} ${when}.`;
}

/** "Races won here: 2 by Anna, 1 by Benedikt.", the one that is over included; nothing while none of these players has won any. */
export function wonSentence({ wonByNow, series, seats }) {
  const counts = wonByNow.map((count, seat) => `${count} by ${clean(seats[seat].name)}`);
  return wonByNow.some(Boolean) ? `${series ? "Series" : "Races"} won here: ${counts.join(", ")}.` : "";
}

/** The points: "Anna 2 : 1 Benedikt", or "Anna 2, Benedikt 1, Clara 0"; own: the seat told first. With nobody ahead on points, also what decides then. */
function score({ seats: inOrder }, own) {
  const mine = inOrder[own];
  const seats = mine ? [mine, ...inOrder.filter((seat) => seat !== mine)] : inOrder;
  const [one, other] = seats;
  const isTied = seats.filter(({ points }) => points === Math.max(...seats.map((seat) => seat.points))).length > 1;
  if (seats.length === 2) {
    const decides = one.forfeits === other.forfeits ? `${one.home} : ${other.home} cards` : `${one.forfeits} : ${other.forfeits} forfeits`;
    return `${clean(one.name)} ${one.points} : ${other.points} ${clean(other.name)}${isTied ? ` (${decides})` : ""}`;
  }
  const decides = ({ forfeits, home }) => ` (${forfeits ? `${counted(forfeits, "forfeit")}, ` : ""}${home} cards)`;
  return seats.map((seat) => `${clean(seat.name)} ${seat.points}${isTied ? decides(seat) : ""}`).join(", ");
}

export class SeriesView {
  #shown = "";

  constructor() {
    this.sentence = element("p", {});
    this.rows = element("tbody", {});
    this.table = element("table", { class: "score" }, element("caption", { class: "unseen" }, "Score of the series"),
      element("thead", {}, element("tr", {}, ["Player", "Points", "Cards home", "Place"].map((title) => element("th", { scope: "col" }, title)))),
      this.rows);
    this.node = element("div", { class: "series" }, this.sentence, this.table);
  }

  show(series, phase) {
    setText(this.sentence, seriesSentence(series, phase));
    // Before the first result nobody stands anywhere.
    this.table.hidden = series.raced === 0;
    const key = JSON.stringify(series);
    if (key === this.#shown) return;
    this.#shown = key;
    const order = series.seats.map((seat, number) => ({ ...seat, number })).sort((one, other) => one.place - other.place || one.number - other.number);
    this.rows.replaceChildren(...order.map((seat) => element("tr", {},
      element("th", { scope: "row" }, nameOf(seat.name), this.#note(seat)),
      element("td", {}, String(seat.points)), element("td", {}, String(seat.home)), element("td", {}, String(seat.place)))));
  }

  #note({ gone, forfeits }) {
    const text = gone ? " gave up" : forfeits ? ` forfeited ${counted(forfeits, "race")}` : "";
    return text && element("span", { class: "note" }, text);
  }
}
