// The evidence of the current card beside the cards, on windows wide enough for it: it follows the card, and links
// marked data-evidence open there. Where the panel is not shown they are plain links.

const DELAY_MS = 150;
let timer = 0;

function panel() {
  const box = document.querySelector("[data-evidence-panel]");
  return box?.parentElement.checkVisibility() ? box : null;
}

function show(url) {
  const box = panel();
  if (!box || !url || box.dataset.url === url) return;
  box.dataset.url = url;
  box.firstElementChild?.classList.add("is-stale");
  window.htmx.ajax("GET", url, { target: box, swap: "innerHTML" });
}

function showCard(card) {
  clearTimeout(timer);
  timer = setTimeout(() => show(card?.dataset.evidenceUrl), DELAY_MS);
}

const openCard = () =>
  document.querySelector("[data-card][aria-current=true]") ?? document.querySelector("[data-card]");

document.addEventListener("workbench:current", (event) => showCard(event.target));
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-evidence]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || !panel()) return;
  event.preventDefault();
  show(link.getAttribute("href"));
  panel().querySelector(".viewer__sheet, .lines")?.focus({ preventScroll: true });
});
document.addEventListener("htmx:load", (event) => {
  if (event.target.querySelector?.("[data-evidence-panel]")) show(openCard()?.dataset.evidenceUrl);
});
window.matchMedia("(min-width: 75rem)").addEventListener("change", () => show(openCard()?.dataset.evidenceUrl));

show(openCard()?.dataset.evidenceUrl);
