// Making and changing elements. Whatever comes from the wire becomes text here, and nothing else: no markup is ever parsed.

/** `A`, `A and B`, `A, B and C`; empty for none. @param {string[]} words */
export function listed(words) {
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words.join("");
}

/** The text of somebody's making without what could steer its surroundings: control, format and unassigned characters. */
export function clean(text) {
  return String(text ?? "").replace(/[\p{C}\u2028\u2029]/gu, "");
}

/** An element. attributes: by name; true for one without a value, null or false for none. children: nodes, texts, or null for nothing. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** A part of a page with its heading. id: of the heading. */
export function section(id, title, ...children) {
  return element("section", { "aria-labelledby": id }, element("h2", { id }, title), ...children);
}

/** What may be wider than its page, to be scrolled by keys too. label: what it is. */
export function wide(label, ...children) {
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, ...children);
}

/** A field behind what is asked there. inline: beside others. */
export function field(label, input, ...rest) {
  return element("p", { class: "field" }, element("label", { for: input.id }, label), input, ...rest);
}

/** The same as one of several in a row. */
export function inlineField(label, input) {
  return element("span", { class: "field inline" }, element("label", { for: input.id }, label), input);
}

/** A button. act: what is done when it is pressed. @param {string} text @param {() => void} act */
export function button(text, act, attributes = {}) {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", () => act());
  return made;
}

/** For so long after a race has ended, what was meant for a card does nothing: as in the terminal. */
const QUIET_MS = 1000;
/** And as long as keys come faster than this: nobody who has seen the end goes on with that ... */
const APART_MS = 400;
/** ... but no longer than this. */
const LONGEST_MS = 1500;

/** The time in which keys were meant for what was there a moment before. */
export class QuietTime {
  #until = 0;
  #end = 0;

  /** @param {number} now @param {number} [longest] */
  begin(now, longest = LONGEST_MS) {
    this.#until = now + QUIET_MS;
    this.#end = now + longest;
    return this;
  }

  /** Whether what is pressed now is to do nothing. @param {number} now */
  takes(now) {
    if (now >= this.#until) return false;
    this.#until = Math.min(Math.max(this.#until, now + APART_MS), this.#end);
    return true;
  }
}

/** For a moment after a race has ended nothing is asked for: the table moves down or goes, and what was meant for a card may meet a button. @param {HTMLButtonElement[]} buttons */
export function beQuiet(...buttons) {
  const set = (isQuiet) => buttons.forEach((each) => { each.disabled = isQuiet; });
  set(true);
  setTimeout(() => set(false), QUIET_MS);
}

const SVG = "http://www.w3.org/2000/svg";

/** The same for a drawing. */
export function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

function setAttributes(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
}

/** A name in its own direction, so that it cannot turn round what stands beside it. */
export function nameOf(text) {
  return element("bdi", { class: "name" }, clean(text) || "nameless");
}

/** A name with a rating behind it, where there is one. */
export function ratedName(name, rating) {
  return typeof rating === "number" ? element("span", {}, nameOf(name), element("span", { class: "rating" }, ` ${rating}`)) : nameOf(name);
}

/** What the document has for its page, before the first message comes; null where there is nothing. */
export function firstKnown() {
  const told = document.getElementById("first");
  return told && JSON.parse(told.textContent);
}

const NAMED = 3;

/** What a seat is called in the title of its race. */
export function seatTitle({ name, bot }) {
  return `${name ?? "open seat"}${bot ? " (bot)" : ""}`;
}

/** The same as a text, for a title. @param {string[]} names */
export function againstText(names) {
  return against(names).map((each) => each.textContent ?? each).join("");
}

/** Names as one phrase: "Ada 1138 against Zoë", or "Ada against Zoë and 6 more". ratings: one for each of them, or none. between: two of them. */
export function against(names, ratings = [], between = " against ") {
  const shown = names.map((name, number) => ratedName(name, ratings[number])).slice(0, names.length > NAMED ? NAMED - 1 : NAMED);
  const more = names.length - shown.length;
  return [...shown.flatMap((node, number) => (number ? [between, node] : [node])), ...(more ? [` and ${more} more`] : [])];
}

/** Change a text only where it differs, so that nobody's reading is disturbed for nothing. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Have a notice say this, or nothing. What was pressed may stand far below it: on a phone nobody would see that it says something. */
export function setNotice(node, text) {
  node.hidden = !text;
  setText(node, text);
  if (text) node.scrollIntoView({ block: "nearest" });
}

/** Whether something is written in the field that has the focus, or a question stands over the page. */
export function isTyping() {
  /** @type {any} */
  const field = document.activeElement;
  return document.querySelector("dialog[open]") !== null || Boolean(field?.matches("input:not([type='checkbox']), textarea") && field.value.trim());
}

/** Have a node hold what `make` makes of `of`: made anew only where that is not what it was, so that a focus or a choice in it stays. */
export function fill(node, of, make) {
  const key = JSON.stringify(of);
  if (node.dataset.shown === key) return;
  node.dataset.shown = key;
  node.replaceChildren(...make());
}

/** Have `parent` hold exactly `nodes`, in their order. What stays is not touched, and the focus stays where it is. */
export function arrange(parent, nodes) {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  for (const child of [...parent.children]) if (!nodes.includes(child)) child.remove();
  nodes.forEach((node, at) => {
    if (parent.children[at] !== node) parent.insertBefore(node, parent.children[at] ?? null);
  });
  if (focused && focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

/** Have `list` show a view of each of `infos`, in their order: a view that is known by its key stays.
 * @param {Map<string, any>} known @param {HTMLElement} list @param {any[]} infos @param {(info: any) => string} keyOf @param {() => any} make @param {(view: any, info: any) => void} show */
export function showEach(known, list, infos, keyOf, make, show) {
  const keys = new Set(infos.map(keyOf));
  for (const key of [...known.keys()]) if (!keys.has(key)) known.delete(key);
  for (const info of infos) {
    const key = keyOf(info);
    if (!known.has(key)) known.set(key, make());
    show(known.get(key), info);
  }
  arrange(list, [...keys].map((key) => known.get(key).node));
}

/** In a link, below whatever path; or behind the terminal's command and its server. */
const CODE_PLACES = [/:\/\/[^/\s]+\/(?:[^?#\s]*\/)?(?:play|watch)\/([^/?#\s]+)/i, /\bcarpet\s+(?:join|watch)\s+(?:\S+\s+)?([a-z-]+)/i];

/** A race's code as somebody wrote it, or its link, or what it was told with, in the form that the server tells it in. @param {string} written */
export function codeOf(written) {
  const told = CODE_PLACES.map((place) => place.exec(written)?.[1]).find(Boolean) ?? written;
  const whole = told.replace(/[\s-]/g, "").toUpperCase();
  if (isCode(whole)) return whole;
  const words = told.split(/\s+/).map((word) => word.replace(/^\P{L}+|\P{L}+$|-/gu, "").toUpperCase()).filter(isCode);
  return words.length === 1 ? words[0] : whole;
}

/** Whether it may be the code of a race. Which ones there are the server knows. @param {string} code */
export function isCode(code) {
  return /^[A-Z]{6}$/.test(code);
}

/** What stands in the address behind its `#`, which is sent to nobody; null where it does not. @param {string} name */
export function inHash(name) {
  return new URLSearchParams(location.hash.slice(1)).get(name);
}

/** "0:42", or "0:42.3" with tenths; "1:02:03" from an hour on. */
export function clockText(ms, tenths = false) {
  const whole = Math.max(0, Math.floor(ms / 100));
  const minutes = Math.floor(whole / 600) % 60;
  const hours = Math.floor(whole / 36000);
  const seconds = String(Math.floor(whole / 10) % 60).padStart(2, "0");
  const text = hours ? `${hours}:${String(minutes).padStart(2, "0")}:${seconds}` : `${minutes}:${seconds}`;
  return tenths ? `${text}.${whole % 10}` : text;
}

/** How a word begins a sentence. @param {string} text */
export function capitalised(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** "1st", "2nd", "13th". @param {number} number */
export function ordinal(number) {
  const ending = Math.floor(number / 10) % 10 === 1 ? "th" : ["th", "st", "nd", "rd"][number % 10] ?? "th";
  return `${number}${ending}`;
}

/** "1 move", "2 moves". nouns: where it takes more than an "s". */
export function counted(number, noun, nouns = `${noun}s`) {
  return `${number} ${number === 1 ? noun : nouns}`;
}

/** How many cards somebody brought home, and when the last. @param {{home: number, home_at_ms: number}} one */
export function homeText(one) {
  return `${counted(one.home, "card")} home at ${clockText(one.home_at_ms, true)}`;
}

/** Copy what stands in a node, and say so on the button. */
export async function copyText(button, node) {
  const [word, name] = [button.textContent, button.getAttribute("aria-label")];
  let told = "Copied";
  try {
    await navigator.clipboard.writeText(node.textContent);
  } catch {
    // Without TLS a browser gives no clipboard: then it is marked, for who copies by keys.
    getSelection().selectAllChildren(node);
    told = "Selected";
  }
  setText(button, told);
  // What a button is called has what stands on it.
  button.removeAttribute("aria-label");
  announce(told === "Copied" ? "Copied." : "Selected. Copy it with your keys.");
  setTimeout(() => {
    setText(button, word);
    setAttributes(button, { "aria-label": name });
  }, 3000);
}

/** What a race did to a rating, behind its seat's result: nothing where it did not count. */
export function ratingChange(rating) {
  if (!rating) return [];
  const change = rating.after - rating.before;
  const sign = change < 0 ? "−" : "+";
  return [" ", element("span", { class: "rating" }, `· rating ${rating.before} → ${rating.after} (${sign}${Math.abs(change)})`)];
}

const BETWEEN_NEWS_MS = 4000;
const BETWEEN_COUNTS_MS = 15000;
let events = [];
let counts = "";
let saidAt = -BETWEEN_COUNTS_MS;
let timer = null;

/** Have something read out by whoever listens rather than looks. A count may wait long, and only the last one is said. What is urgent is said
 * at once, before what waits, and of the counts of till then nothing is said any more. */
export function announce(text, { isCount = false, isUrgent = false } = {}) {
  if (isCount) counts = text;
  else if (!isUrgent) events = [...events.slice(-3), text];
  else {
    counts = "";
    say(text);
  }
  speakSoon();
}

function speakSoon() {
  clearTimeout(timer);
  if (!events.length && !counts) return;
  const pause = events.length ? BETWEEN_NEWS_MS : BETWEEN_COUNTS_MS;
  timer = setTimeout(speak, Math.max(100, saidAt + pause - performance.now()));
}

function speak() {
  say([...events, counts].filter(Boolean).join(" "));
  events = [];
  counts = "";
}

function say(text) {
  document.getElementById("news").textContent = text;
  saidAt = performance.now();
}

const [HERTZ, TONE_S, LOUDNESS] = [660, 0.18, 0.15];

/** A short tone, where somebody has pressed anything on this page: before that browsers let none be heard. */
export function ring() {
  if (!navigator.userActivation?.hasBeenActive) return;
  const audio = new AudioContext();
  const [tone, loudness] = [audio.createOscillator(), audio.createGain()];
  tone.frequency.value = HERTZ;
  loudness.gain.value = LOUDNESS;
  tone.connect(loudness).connect(audio.destination);
  tone.onended = () => audio.close();
  tone.start();
  tone.stop(audio.currentTime + TONE_S);
}
