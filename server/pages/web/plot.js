// Cards home over time, a step line a seat: told apart by colour and by dashes.

import { clockText, element, shape } from "./dom.js";

const DASHES = ["none", "7 4", "2 3", "10 3 2 3", "none", "7 4", "2 3", "10 3 2 3"];
const HEIGHT = 200;
const [LEFT, RIGHT, TOP, BOTTOM] = [34, 12, 10, 24];

export class Plot {
  #drawn = "";

  constructor() {
    this.drawing = shape("svg", { role: "img", height: HEIGHT, width: "100%" });
    this.node = element("div", { class: "plot" }, this.drawing);
    new ResizeObserver(() => this.#last && this.show(...this.#last)).observe(this.node);
  }

  #last = null;

  /** curves: seat number to [[milliseconds, cards home], …], the last of which holds to the end where `live` has the seat. end: the right edge, in milliseconds. text: what it shows, in words. */
  show(curves, end, cards, text, live) {
    this.#last = [curves, end, cards, text, live];
    // Said from the first moment, though it is drawn only when it has its place.
    this.drawing.setAttribute("aria-label", text);
    const width = this.node.clientWidth;
    const most = Math.max(4, ...[...curves.values()].flat().map(([, home]) => home));
    const top = Math.min(cards, Math.ceil((most + 1) / 13) * 13);
    const last = Math.max(end, 1000);
    const key = `${width} ${top} ${Math.round((last / 1000) * 2)} ${text} ${[...curves.values()].map((curve) => curve.length)}`;
    if (!width || key === this.#drawn) return;
    this.#drawn = key;
    const x = (ms) => LEFT + (Math.min(ms, last) / last) * (width - LEFT - RIGHT);
    const y = (home) => HEIGHT - BOTTOM - (Math.min(home, top) / top) * (HEIGHT - TOP - BOTTOM);
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const marks = [];
    for (let home = 0; home <= top; home += 13) {
      marks.push(shape("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(home), y2: y(home) }),
        shape("text", { x: LEFT - 6, y: y(home) + 4, "text-anchor": "end" }, String(home)));
    }
    marks.push(shape("text", { x: LEFT, y: HEIGHT - 6 }, "0:00"),
      shape("text", { x: width - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, clockText(last)));
    const lines = [...curves].filter(([, curve]) => curve.length).map(([seat, curve]) => {
      const steps = curve.map(([ms, home], at) => (at ? `H${x(ms).toFixed(1)} V${y(home).toFixed(1)}` : `M${x(ms).toFixed(1)} ${y(home).toFixed(1)}`));
      if (live.has(seat)) steps.push(`H${x(last).toFixed(1)}`);
      return shape("path", { class: `curve seat-${seat % 8}`, d: steps.join(" "), "stroke-dasharray": DASHES[seat % 8] });
    });
    this.drawing.replaceChildren(...marks, ...lines);
  }
}

/** A short piece of a seat's line, for the legend. */
export function sample(seat) {
  return shape("svg", { class: "sample", viewBox: "0 0 32 8", width: 32, height: 8, "aria-hidden": "true" },
    shape("path", { class: `curve seat-${seat % 8}`, d: "M0 4 H32", "stroke-dasharray": DASHES[seat % 8] }));
}
