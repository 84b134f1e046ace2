// The current card: j and k (buttons with data-cards-step) move it, a click inside a card makes it current, and
// after a decision the next undecided card becomes current and is read out.

const cards = () => [...document.querySelectorAll("[data-card]")];
const current = () => document.querySelector("[data-card][aria-current=true]");

function makeCurrent(card, { focus = true } = {}) {
  if (!card) return;
  const before = current();
  if (before && before !== card) before.removeAttribute("aria-current");
  card.setAttribute("aria-current", "true");
  if (!focus) return;
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const all = cards();
  const here = all.indexOf(current());
  const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(here + by, 0), all.length - 1);
  makeCurrent(all[next]);
}

function afterDecision(card) {
  const all = cards();
  const here = all.indexOf(card);
  const isOpen = (other) => other.matches("[data-card-open]");
  if (card.querySelector("[role=alert]") || isOpen(card)) return makeCurrent(card);
  makeCurrent(all.slice(here + 1).find(isOpen) ?? all.find(isOpen) ?? card);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-cards-step]");
  if (button) return step(Number(button.dataset.cardsStep));
  const card = event.target.closest?.("[data-card]");
  if (card) makeCurrent(card, { focus: false });
});
document.addEventListener("focusin", (event) => {
  makeCurrent(event.target.closest?.("[data-card]"), { focus: false });
});
document.addEventListener("htmx:load", (event) => {
  if (event.target.matches?.("[data-card]")) afterDecision(event.target);
});
