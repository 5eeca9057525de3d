// All cards fall over the page when their player has brought the last one home, as in the terminal: they leave trails, take no press, and end with any that is not meant for the race.

import { cardTexts } from "./boards.js";
import { QuietTime, element } from "./dom.js";

/** From the first card to the end. */
const FALL_MS = 3600;
/** The last one begins so long before the end that it is gone by then. */
const LAST_MS = 1400;
const STEP_MS = 16;
/** What is left of its speed when a card bounces. */
const BOUNCE = 0.75;

/** homes: of each foundation, where it lies in the window, and its cards from the top. @param {{box: DOMRect, cards: string[]}[]} homes */
export function fall(homes) {
  const canvas = /** @type {HTMLCanvasElement} */ (element("canvas", { class: "falling", "aria-hidden": "true" }));
  const [width, height, scale] = [innerWidth, innerHeight, devicePixelRatio];
  Object.assign(canvas, { width: width * scale, height: height * scale });
  document.body.append(canvas);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const draw = painter(pen, getComputedStyle(document.documentElement));
  // The topmost first, one from each foundation in turn; of two packs as many as of one.
  const order = homes.flatMap(({ box, cards }) => cards.map((card, below) => ({ box, card, below }))).sort((one, other) => one.below - other.below).slice(0, 52);
  const weight = height / 1900;
  // Each springs to one side, and some of them up.
  const flights = order.map(({ box, card }, number) => ({
    card, box, x: box.x, y: box.y, across: (width / 800) * (2 + ((number * 7) % 5) * 0.7) * ((number * 5) % 3 ? -1 : 1), speed: -weight * 5 * (number % 3),
    due: ((FALL_MS - LAST_MS) * number) / order.length,
  }));
  const begun = performance.now();
  // Whoever sends their last cards home by hand often presses once too often, and some go on with it.
  const quiet = new QuietTime().begin(begun, FALL_MS);
  const end = (event = null) => {
    if (event && quiet.takes(performance.now())) return;
    canvas.remove();
    for (const kind of ["keydown", "pointerdown"]) removeEventListener(kind, end, true);
  };
  for (const kind of ["keydown", "pointerdown"]) addEventListener(kind, end, true);
  const show = () => {
    const since = performance.now() - begun;
    if (!canvas.isConnected || since > FALL_MS) return end();
    // Every step of every card is drawn, however few frames there are: nothing but that makes the trails.
    for (const flight of flights) {
      for (; flight.due <= since; flight.due += STEP_MS) {
        draw(flight);
        move(flight, weight, height);
      }
    }
    requestAnimationFrame(show);
  };
  show();
}

/** A step further: a card falls, and bounces off the lower edge. */
function move(flight, weight, height) {
  flight.x += flight.across;
  flight.y += flight.speed;
  flight.speed += weight;
  const lowest = height - flight.box.height;
  if (flight.y > lowest) Object.assign(flight, { y: lowest, speed: -flight.speed * BOUNCE });
}

/** Draws a card with its edge: without it the trails would be one bright heap. */
function painter(pen, style) {
  const [face, ink, red, edge] = ["--card", "--card-ink", "--red", "--felt"].map((name) => style.getPropertyValue(name));
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  return ({ card, x, y, box: { width, height } }) => {
    const { rank, sign, isRed } = cardTexts(card);
    pen.beginPath();
    pen.roundRect(x, y, width, height, width / 10);
    pen.fillStyle = face;
    pen.fill();
    pen.strokeStyle = edge;
    pen.stroke();
    pen.fillStyle = isRed ? red : ink;
    pen.font = `600 ${Math.round(width * 0.4)}px ${style.fontFamily}`;
    pen.fillText(rank, x + width / 2, y + height * 0.33);
    pen.fillText(sign, x + width / 2, y + height * 0.68);
  };
}
