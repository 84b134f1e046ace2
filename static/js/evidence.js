// The page viewer: zoom by level (the CSS knows the widths), the first boxed line scrolled into view inside its pane,
// and a line lit in image and text together.

const LEVELS = 5;
const KEY = "workbench.zoom";

// The panel beside the cards and the page of a document each keep their own level.
const place = (viewer) => (viewer.closest(".panel") ? ".panel" : "");

function zoom(viewer, by) {
  const now = Number(viewer.dataset.zoomLevel);
  const level = by === 0 ? 1 : Math.min(Math.max(now + by, 1), LEVELS);
  viewer.dataset.zoomLevel = level;
  try {
    sessionStorage.setItem(KEY + place(viewer), level);
  } catch {
    // the level holds for this page
  }
  showFirst(viewer, ".viewer__sheet", ".box--anchor");
}

function showFirst(viewer, paneSelector, hitSelector) {
  const pane = viewer.querySelector(paneSelector);
  const boxes = [...(pane?.querySelectorAll(hitSelector) ?? [])].map((hit) => hit.getBoundingClientRect());
  if (!boxes.length) return;
  const frame = pane.getBoundingClientRect();
  pane.scrollTop += boxes[0].top - frame.top - pane.clientHeight / 3;
  // The middle of the lines in the middle of the pane shows the column they stand in.
  const [left, right] = [Math.min(...boxes.map((box) => box.left)), Math.max(...boxes.map((box) => box.right))];
  pane.scrollLeft += (left + right) / 2 - frame.left - pane.clientWidth / 2;
}

function light(event, on) {
  const line = event.target.closest?.("[data-line]");
  if (!line) return;
  const viewer = line.closest("[data-viewer]");
  for (const twin of viewer?.querySelectorAll(`[data-line="${CSS.escape(line.dataset.line)}"]`) ?? []) {
    twin.classList.toggle("is-lit", on);
  }
}

function prepare(root) {
  const viewers = root.matches?.("[data-viewer]") ? [root] : root.querySelectorAll("[data-viewer]");
  for (const viewer of viewers) {
    try {
      viewer.dataset.zoomLevel = sessionStorage.getItem(KEY + place(viewer)) ?? viewer.dataset.zoomLevel;
    } catch {
      // start at the level the page gave
    }
    showFirst(viewer, ".viewer__sheet", ".box--anchor");
    showFirst(viewer, ".lines", ".lines__item--anchor");
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-zoom]");
  if (button) zoom(button.closest("[data-viewer]"), Number(button.dataset.zoom));
});
document.addEventListener("pointerover", (event) => light(event, true));
document.addEventListener("pointerout", (event) => light(event, false));
document.addEventListener("focusin", (event) => light(event, true));
document.addEventListener("focusout", (event) => light(event, false));
document.addEventListener("htmx:load", (event) => prepare(event.target));

prepare(document);
