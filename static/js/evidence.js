// The page viewer, wherever a page of a document is shown: the image fitted on its boxed lines, zoom, pan and page keys;
// a line lit in image and text together; text on the image, laid over it from the line boxes; choosing lines, by dragging
// over words, clicking or keys, whose citation then stands below. Without it the image is as wide as its pane.

const STEP = 1.25;
const [LARGEST, LARGEST_FIT] = [5, 2.2];
const MARGIN = 0.04; // of a page's width, left around what the image is fitted on
const FIRST_OF = [".box--anchor", ".box--now", ".box--differs", ".box--hit"];
const SVG = "http://www.w3.org/2000/svg";

const viewers = (root) => (root.matches?.("[data-viewer]") ? [root] : root.querySelectorAll?.("[data-viewer]") ?? []);
const paneOf = (viewer) => viewer.querySelector(".viewer__sheet");
const sheetOf = (viewer) => viewer.querySelector(".sheet");

// --- size and place: how wide the sheet is, in widths of its pane; whoever zooms keeps the middle of the pane ---------

const scales = new WeakMap(); // viewer -> {scale, byHand}

function room(pane) {
  const style = getComputedStyle(pane);
  return {
    width: pane.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight),
    height: pane.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom),
  };
}

function setScale(viewer, scale, byHand) {
  scales.set(viewer, { scale, byHand });
  sheetOf(viewer).style.width = `${scale * 100}%`;
}

// What the image is fitted on, as {x0, y0, x1, y1} in points of the page; null without boxes.
function target(viewer) {
  for (const selector of FIRST_OF) {
    const boxes = [...viewer.querySelectorAll(`.sheet rect${selector}`)].map((box) => box.getBBox());
    if (!boxes.length) continue;
    return {
      x0: Math.min(...boxes.map((box) => box.x)),
      y0: Math.min(...boxes.map((box) => box.y)),
      x1: Math.max(...boxes.map((box) => box.x + box.width)),
      y1: Math.max(...boxes.map((box) => box.y + box.height)),
    };
  }
  return null;
}

function fit(viewer) {
  const pane = paneOf(viewer);
  if (!pane?.clientWidth) return;
  const page = viewer.querySelector(".sheet > svg").viewBox.baseVal;
  const here = target(viewer);
  const space = room(pane);
  let scale = 1;
  if (here) {
    const wide = (here.x1 - here.x0) / page.width + 2 * MARGIN;
    const tall = (here.y1 - here.y0 + 2 * MARGIN * page.width) / page.width;
    scale = Math.min(1 / wide, Math.max(space.height / space.width / tall, 1), LARGEST_FIT);
  }
  setScale(viewer, Math.max(scale, 1), false);
  if (!here) return;
  const points = sheetOf(viewer).clientWidth / page.width;
  const spare = space.height - (here.y1 - here.y0) * points;
  pane.scrollTop = here.y0 * points - Math.max(spare / 3, MARGIN * page.width * points);
  pane.scrollLeft = ((here.x0 + here.x1) / 2) * points - space.width / 2;
}

function zoom(viewer, by) {
  const pane = paneOf(viewer);
  if (by === 0) return fit(viewer);
  const before = scales.get(viewer)?.scale ?? 1;
  const space = room(pane);
  const page = viewer.querySelector(".sheet > svg").viewBox.baseVal;
  const smallest = Math.min(1, (space.height / space.width) * (page.width / page.height)); // the whole page
  const scale = Math.min(Math.max(before * STEP ** by, smallest), LARGEST);
  const middle = [pane.scrollLeft + pane.clientWidth / 2, pane.scrollTop + pane.clientHeight / 2];
  setScale(viewer, scale, true);
  pane.scrollLeft = middle[0] * (scale / before) - pane.clientWidth / 2;
  pane.scrollTop = middle[1] * (scale / before) - pane.clientHeight / 2;
}

function showText(viewer) {
  const list = viewer.querySelector(".lines");
  const line = list?.querySelector(".lines__item--anchor, .lines__item--now, .lines__item--differs");
  if (line) list.scrollTop += line.getBoundingClientRect().top - list.getBoundingClientRect().top - list.clientHeight / 3;
}

// The page turns at the ends of the pane; before them the keys move within the page, as browsers do.
function turn(event) {
  const pane = event.target.closest?.(".viewer__sheet");
  if (!pane || !["PageDown", "PageUp"].includes(event.key)) return;
  const down = event.key === "PageDown";
  const atEnd = down ? pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 2 : pane.scrollTop <= 2;
  const link = pane.closest("[data-viewer]").querySelector(down ? "a[rel=next]" : "a[rel=prev]");
  if (!atEnd || !link) return;
  event.preventDefault();
  link.click();
}

// --- pan: dragging the paper beside the words; fingers scroll the pane by themselves ---------------------------------

let drag = null;

function grab(event) {
  const pane = event.target.closest?.(".viewer__sheet");
  if (!pane || event.pointerType !== "mouse" || event.target.closest("[data-line], a")) return;
  if (event.button > 1) return;
  event.preventDefault();
  pane.focus({ preventScroll: true });
  pane.setPointerCapture(event.pointerId);
  pane.classList.add("is-held");
  drag = { pane, x: event.clientX + pane.scrollLeft, y: event.clientY + pane.scrollTop };
}

function move(event) {
  if (!drag) return;
  drag.pane.scrollLeft = drag.x - event.clientX;
  drag.pane.scrollTop = drag.y - event.clientY;
}

function release() {
  drag?.pane.classList.remove("is-held");
  drag = null;
}

// --- words on the image ----------------------------------------------------------------------------------------------

const wordsOf = (item) =>
  [...item.querySelector(".lines__text").childNodes]
    .filter((node) => node.nodeName !== "SPAN")
    .map((node) => node.textContent)
    .join("");

function layText(viewer) {
  const svg = viewer.querySelector(".sheet > svg");
  if (!svg || svg.querySelector("text")) return;
  for (const box of svg.querySelectorAll("rect[data-line]")) {
    const item = viewer.querySelector(`li[data-line="${box.dataset.line}"]`);
    const text = item && wordsOf(item);
    if (!text?.trim()) continue;
    const { x, y, width, height } = box.getBBox();
    const words = document.createElementNS(SVG, "text");
    for (const [name, value] of Object.entries({
      x, y: y + height * 0.8, textLength: width, lengthAdjust: "spacingAndGlyphs", "font-size": height, class: "sheet__text",
    })) words.setAttribute(name, value);
    words.dataset.line = box.dataset.line;
    words.textContent = text;
    svg.append(words);
  }
}

// --- choosing lines --------------------------------------------------------------------------------------------------

const chosen = new WeakMap(); // viewer -> [first, last], each [page, line]
const placeOf = (line) => /^p(\d+)-l(\d+)$/.exec(line?.dataset?.line ?? "")?.slice(1).map(Number);
const order = (one, other) => one[0] - other[0] || one[1] - other[1];
const inWords = ([page, line]) => `${page}:${line}`;
let single = false; // one line was clicked: the next click is the other end

function choose(viewer, places) {
  const ends = places && [...places].sort(order);
  const [first, last] = ends ? [ends[0], ends.at(-1)] : [];
  if (ends) chosen.set(viewer, [first, last]);
  else chosen.delete(viewer);
  mark(viewer);
  viewer.dispatchEvent(new CustomEvent("workbench:lines", { bubbles: true, detail: { first, last } }));
  const bar = viewer.querySelector("[data-chosen]");
  if (!bar) return;
  if (!ends) return bar.setAttribute("hidden", "");
  const query = new URLSearchParams({ from: inWords(first), to: inWords(last) });
  window.htmx.ajax("GET", `${viewer.dataset.cite}?${query}`, { target: bar, swap: "innerHTML", source: bar });
}

function mark(viewer) {
  const [first, last] = chosen.get(viewer) ?? [];
  for (const line of viewer.querySelectorAll("[data-line]")) {
    const here = placeOf(line);
    line.classList.toggle("is-chosen", Boolean(first && order(first, here) <= 0 && order(here, last) <= 0));
  }
}

function dragged(viewer) {
  const selection = getSelection();
  if (selection.isCollapsed || !viewer.contains(selection.anchorNode)) return null;
  const start = selection.anchorNode.parentElement?.closest(".lines, .sheet");
  const range = selection.getRangeAt(0);
  const lines = [...(start?.querySelectorAll("li[data-line], text[data-line]") ?? [])];
  const places = lines.filter((line) => range.intersectsNode(line)).map(placeOf);
  return places.length ? places : null;
}

function pick(viewer, line, extend) {
  const here = placeOf(line);
  const before = chosen.get(viewer);
  const goesOn = before && (extend || (single && order(before[0], before[1]) === 0));
  single = !goesOn;
  choose(viewer, goesOn ? [before[0], before[1], here] : [here]);
}

function pointed(event) {
  const viewer = event.target.closest?.("[data-cite]");
  if (!viewer || event.button || drag || event.target.closest("[data-chosen], .viewer__bar, input")) return;
  const line = event.target.closest("[data-line]");
  const shift = event.shiftKey;
  // The selection is settled after the event.
  setTimeout(() => {
    const places = dragged(viewer);
    if (places) {
      single = false;
      choose(viewer, places);
    } else if (line) pick(viewer, line, shift);
  });
}

// On a line's number: up and down go from line to line, with Shift they choose on, Enter chooses.
function walk(event) {
  const number = event.target.closest?.("[data-cite] .lines__num");
  if (!number) return;
  const item = number.closest("li");
  const viewer = item.closest("[data-viewer]");
  const beside = { ArrowDown: item.nextElementSibling, ArrowUp: item.previousElementSibling }[event.key];
  if (event.key === "Enter" || beside) event.preventDefault();
  if (event.key === "Enter") return pick(viewer, item, event.shiftKey);
  if (!beside) return;
  beside.querySelector(".lines__num").focus();
  if (!event.shiftKey) return;
  const [first, last] = chosen.get(viewer) ?? [placeOf(item), placeOf(item)];
  const start = order(placeOf(item), last) === 0 ? first : last; // the end that stays
  single = false;
  choose(viewer, [start, placeOf(beside)]);
}

function cited(bar) {
  bar.removeAttribute("hidden");
  const add = bar.querySelector("[data-add-lines]");
  const base = bar.closest("[data-viewer]").dataset.add;
  if (!add || !base) return;
  add.href = base + add.getAttribute("href");
  add.hidden = false;
}

// --- all together ----------------------------------------------------------------------------------------------------

function light(event, on) {
  const line = event.target.closest?.("[data-line]");
  const viewer = line?.closest("[data-viewer]");
  for (const twin of viewer?.querySelectorAll(`[data-line="${CSS.escape(line.dataset.line)}"]`) ?? []) {
    twin.classList.toggle("is-lit", on);
  }
}

const resized = new ResizeObserver((entries) => {
  for (const { target: pane } of entries) {
    const viewer = pane.closest("[data-viewer]");
    if (viewer && !scales.get(viewer)?.byHand) fit(viewer);
  }
});

function prepare(root) {
  for (const viewer of viewers(root)) {
    layText(viewer);
    showText(viewer);
    if (paneOf(viewer)) resized.observe(paneOf(viewer)); // fits at once, too
  }
}

document.addEventListener("click", (event) => {
  const at = (selector) => event.target.closest?.(selector);
  if (at("[data-zoom]")) zoom(at("[data-viewer]"), Number(at("[data-zoom]").dataset.zoom));
  else if (at("[data-choose-none]")) choose(at("[data-viewer]"), null);
  else if (at("[data-cite] .lines__num")) event.preventDefault();
});
document.addEventListener("pointerdown", grab);
document.addEventListener("pointermove", move);
document.addEventListener("pointerup", (event) => {
  pointed(event);
  release();
});
document.addEventListener("pointercancel", release);
document.addEventListener("keydown", (event) => {
  turn(event);
  walk(event);
});
document.addEventListener("pointerover", (event) => light(event, true));
document.addEventListener("pointerout", (event) => light(event, false));
document.addEventListener("focusin", (event) => light(event, true));
document.addEventListener("focusout", (event) => light(event, false));
// A form may say which lines are chosen (lines.js).
document.addEventListener("workbench:choose", (event) => choose(event.target, event.detail.places));
document.addEventListener("htmx:load", (event) => prepare(event.target));
document.addEventListener("htmx:afterSwap", (event) => event.target.matches?.("[data-chosen]") && cited(event.target));

prepare(document);
