// What whoever opens a race or makes a tournament is asked: the fields of the terminal's forms, as the server tells them.

import { clean, element, setText } from "./dom.js";

/** @typedef {{value: any, words: string, explanation: string}} Choice */
/** @typedef {{name: string, label: string, explanation: string, choices: Choice[], formats: string[], longest: number}} Field */
/** @typedef {{fields: Field[], usual: any}} Form */

/** @type {Promise<{race: Form, tournament: Form, usual_deals: number}> | null} */
let asked = null;

/** Both forms: fetched once, where somebody is asked at all. A page that was left open asks the server of today for its own. */
export function forms() {
  asked ??= fetch(new URL("./forms.json", `${location.origin}/web/`)).then((answered) => (answered.ok ? answered.json() : Promise.reject(new Error(answered.statusText))));
  asked.catch(() => { asked = null; });
  return asked;
}

let made = 0;

/** Fields to fill in, and what they come to. */
export class OptionFields {
  #rows = [];

  /** known: choices of the server's, by field. @param {Form} form @param {Record<string, Choice[]>} known @param {number} [usualDeals] */
  constructor(form, known, usualDeals = 0) {
    this.form = form;
    this.usualDeals = usualDeals;
    this.node = element("div", { class: "options" });
    for (const field of form.fields) this.#rows.push(this.#row(field, known[field.name] ?? field.choices));
    this.node.append(...this.#rows.map((row) => row.node));
    this.#fit();
  }

  /** @param {Field} field @param {Choice[]} choices */
  #row(field, choices) {
    const id = `option-${made += 1}`;
    const usual = field.name === "rounds" && field.formats.includes("session") ? this.usualDeals : this.form.usual[field.name] ?? null;
    const input = choices.length
      ? element("select", { id }, choices.map(({ value, words }, at) => element("option", { value: String(at), selected: same(value, usual) }, clean(words))))
      : element("input", { id, maxlength: String(field.longest), autocomplete: "off", placeholder: usual ?? "" });
    input.setAttribute("aria-describedby", `${id}-why`);
    const why = element("p", { class: "note", id: `${id}-why` });
    const node = element("div", { class: "option" }, element("label", { for: id }, field.label), input, why);
    const row = { field, input, node, why, choice: () => choices[Number(input.value)], value: () => (choices.length ? choices[Number(input.value)].value : input.value.trim() || usual) };
    input.addEventListener("change", () => this.#fit());
    return row;
  }

  /** Show what the chosen format has, and why each is asked. */
  #fit() {
    const format = this.#rows.find(({ field }) => field.name === "format")?.value();
    for (const { field, node, why, choice } of this.#rows) {
      node.hidden = field.formats.length > 0 && !field.formats.includes(format);
      setText(why, choice()?.explanation || field.explanation);
    }
  }

  /** What was chosen, by field. */
  get options() {
    return Object.fromEntries(this.#rows.filter(({ node }) => !node.hidden).map(({ field, value }) => [field.name, value()]));
  }
}

/** Whether two values of fields are the same: some are small maps. */
function same(one, other) {
  return one === other || (one !== null && other !== null && typeof one === "object" && Object.keys(one).every((key) => one[key] === other[key]));
}
