// Where a player begins: their name, and what they would like to run.

import { OptionFields, forms } from "./choices.js";
import { button, clean, codeOf, element, field, inlineField, isCode, setText } from "./dom.js";

/** The one to begin with, as in the terminal. */
const USUAL_BOT = "greedy";

/** A field for the name of somebody who is new, or their name and a way to change it. */
export class NameField {
  #asked = "";

  /** @param {string} proposed @param {(name: string) => void} rename */
  constructor(proposed, rename) {
    this.input = element("input", { id: "name", maxlength: "24", autocomplete: "nickname", spellcheck: "false", value: proposed });
    this.button = button("Change the name", () => {
      this.#asked = this.value;
      if (this.value) rename(this.value);
    }, { hidden: true });
    this.told = element("span", { class: "note", role: "status" });
    this.node = field("Your name", this.input, this.button, this.told);
    this.input.addEventListener("input", () => { this.button.hidden = !this.known || this.value === this.known; });
  }

  get value() {
    return this.input.value.trim();
  }

  /** The server's word on it. */
  show(known) {
    this.known = known;
    if (known) this.input.value = known;
    this.button.hidden = true;
    setText(this.told, known && this.#asked ? `You are ${clean(known)} now.` : "");
    this.#asked = "";
  }
}

/** For who has just become a player: that they are not called what they asked for; empty where they are. @param {string | null} asked @param {string} name */
export function otherNameSentence(asked, name) {
  const wanted = clean(asked).trim();
  if (!wanted || wanted === name) return "";
  const isTaken = /^ \d+$/.test(name.slice(name.lastIndexOf(" ")));
  return `You are called ${clean(name)} here.${isTaken ? ` Somebody else is ${wanted}.` : ""}`;
}

export class StartForm {
  #rules = [];
  #bots = [];
  /** @type {OptionFields | null} */
  race = null;
  /** @type {OptionFields | null} */
  tournament = null;

  /** wish(message): what is asked for. nonce(): 16 bytes in hexadecimal. @param {(message: object) => void} wish @param {() => string} nonce */
  constructor(wish, nonce) {
    this.rules = element("select", { id: "rules" });
    this.explained = element("p", { class: "explained" });
    this.inShort = element("details", {}, element("summary", {}, "The rules"), this.explained);
    // On a phone they would stand between a player and the first button; elsewhere the style sheet has no summary.
    const phone = matchMedia("(max-width: 30rem)");
    const fold = () => { this.inShort.open = !phone.matches; };
    fold();
    phone.addEventListener("change", fold);
    this.bots = element("select", { id: "bot", "aria-label": "House bot" });
    this.bots.addEventListener("change", () => this.#explainBot());
    this.limit = element("select", { id: "limit" }, [[300, "5 minutes"], [600, "10 minutes"], [1200, "20 minutes"], [3600, "an hour"]]
      .map(([seconds, words]) => element("option", { value: String(seconds), selected: seconds === 600 }, words)));
    this.winnable = element("input", { type: "checkbox", id: "winnable" });
    this.winnableRow = element("p", { class: "field inline" }, this.winnable, element("label", { for: "winnable" }, "Only a deal that can be won"));
    this.code = element("input", { id: "code", size: "8", maxlength: "200", autocomplete: "off", autocapitalize: "characters", spellcheck: "false" });
    this.code.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && this.#join());
    this.code.addEventListener("input", () => setText(this.noCode, ""));
    this.noCode = element("span", { class: "note", role: "status" });
    const wishing = (text, make, kind = "choice-button") => button(text, () => wish(make()), { class: kind });
    const options = (more) => ({
      ...this.race?.options, rules: this.rules.value, time_limit_s: Number(this.limit.value),
      winnable: !this.winnableRow.hidden && this.winnable.checked && !this.race?.options.deal, ...more,
    });
    this.more = element("details", { class: "more" }, element("summary", {}, "Time limit and more"),
      field("At most", this.limit), this.winnableRow);
    this.maker = element("details", { class: "more" }, element("summary", {}, "Make a tournament"));
    this.make = wishing("Make it", () => {
      const { code, ...options } = this.tournament.options;
      return { type: "create-tournament", options, code };
    }, "main-button");
    for (const details of [this.more, this.maker]) details.addEventListener("toggle", () => details.open && this.#ask());
    const asked = new URLSearchParams(location.search);
    const challenge = asked.get("challenge");
    const daily = way("Today’s deal", "The same shuffle for everybody today, once each, ten minutes.",
      wishing("Run today’s deal", () => ({ type: "run-daily", rules: this.rules.value })));
    this.node = element("div", { class: "start" },
      challenge ? element("ul", { class: "ways" }, way(`Challenge ${challenge.slice(0, 16)}`, "A deal that others run too, each in their own time, once each.",
        wishing("Run this challenge", () => ({ type: "run-challenge", id: challenge.slice(0, 16) })))) : null,
      field("Game", this.rules), this.inShort, this.more,
      element("ul", { class: "ways" },
        asked.has("daily") ? daily : null,
        way("A friend", "You get a link to send; whoever opens it races you.", wishing("Make a link", () => ({ type: "open-race", options: options({ public: false }) }))),
        way("A code", "Six letters that a friend has read out to you, or the link itself.", inlineField("Code", this.code), button("Go to that race", () => this.#join(), { class: "choice-button" }), this.noCode),
        way("Anybody", "The next player who looks for a race, near your rating if there is one.",
          wishing("Find an opponent", () => ({ type: "quick-match", rules: this.rules.value }))),
        way("Whoever joins", "The race is listed until somebody takes the other seat.",
          wishing("Open a race", () => ({ type: "open-race", options: options({ public: true }) }))),
        this.botWay = way("A house bot", "", this.bots,
          wishing("Race the bot", () => ({ type: "open-race", options: options({ public: false, ...this.#withBots() }) }))),
        asked.has("daily") ? null : daily,
        way("Whoever comes later", "A deal for others to run within a week, each in their own time, once each.",
          wishing("Make a challenge", () => ({ type: "open-challenge", nonce: nonce(), rules: this.rules.value, time_limit_s: Number(this.limit.value) })))),
      this.maker);
    this.rules.addEventListener("change", () => this.#explain());
  }

  /** To the race whose code was told, however it is written down. */
  #join() {
    const code = codeOf(this.code.value);
    if (isCode(code)) return location.assign(`/play/${encodeURIComponent(code)}`);
    setText(this.noCode, code && "That is not the code of a race, which is six letters.");
    this.code.focus();
  }

  /** The bot has every other seat. */
  #withBots() {
    const seats = Math.max(this.race?.options.seats ?? 2, 2);
    return { seats, bots: Array.from({ length: seats - 1 }, () => this.bots.value) };
  }

  /** Draw what is asked beyond game and time, where somebody wants to say it. */
  async #ask() {
    if (this.race || !this.#rules.length) return;
    const told = await forms().catch(() => null);
    if (!told || this.race) return;
    const known = {
      rules: this.#rules.map((rules) => ({ value: rules.id, words: rules.name, explanation: rules.explanation })),
      bot: this.#bots.map((bot) => ({ value: bot.name, words: bot.name, explanation: bot.explanation })),
    };
    const asked = told.race.fields.filter((field) => !["rules", "bots", "public", "time_limit_s"].includes(field.name));
    this.race = new OptionFields({ ...told.race, fields: asked }, {});
    this.tournament = new OptionFields(told.tournament, known, told.usual_deals);
    this.more.append(this.race.node);
    this.maker.append(element("p", { class: "note" }, "You direct it. Players enter on its page: show it, or send the link."), this.tournament.node, element("p", { class: "actions" }, this.make));
  }

  /** @param {any} welcome */
  show(welcome) {
    if (this.#rules.length) return;
    this.#rules = welcome.rules;
    this.#bots = welcome.bots;
    this.rules.replaceChildren(...welcome.rules.map((rules) => element("option", { value: rules.id }, rules.name)));
    const asked = new URLSearchParams(location.search).get("rules");
    if (welcome.rules.some((rules) => rules.id === asked)) this.rules.value = asked;
    this.bots.replaceChildren(...welcome.bots.map((bot) => element("option", { value: bot.name, selected: bot.name === USUAL_BOT }, bot.name)));
    this.#explainBot();
    this.#explain();
  }

  #explainBot() {
    setText(this.botWay.querySelector(".note"), this.#bots.find((bot) => bot.name === this.bots.value)?.explanation ?? "");
  }

  #explain() {
    const rules = this.#rules.find((each) => each.id === this.rules.value);
    setText(this.explained, rules?.explanation ?? "");
    this.winnableRow.hidden = !rules?.solvable;
  }
}

function way(title, text, ...rest) {
  return element("li", {}, element("h2", {}, title), element("p", { class: "note" }, text), element("p", { class: "way" }, rest));
}
