// The current card: j and k (buttons with data-cards-step) move it, a click inside a card makes it current, and
// after a decision by key the next undecided card becomes current and is read out. Who becomes current says so by the event
// workbench:current (panel.js shows its evidence).

let byPointer = false;
let swapped = {}; // the card that is being swapped, and where its buttons stood

const cards = () => [...document.querySelectorAll("[data-card]")];
const current = () => document.querySelector("[data-card][aria-current=true]");

// What only acting on a card needs waits in noscript elements: as text in a page, as elements in a fragment of htmx.
function wake(card) {
  for (const later of card.querySelectorAll("noscript.card__later")) {
    const form = document.createElement("template");
    if (later.children.length) form.content.append(...later.childNodes);
    else form.innerHTML = later.textContent;
    const woken = form.content.firstElementChild;
    later.replaceWith(form.content);
    window.htmx?.process(woken);
    woken.dispatchEvent(new CustomEvent("workbench:woken", { bubbles: true }));
  }
}

function makeCurrent(card, { focus = true } = {}) {
  if (!card) return;
  wake(card);
  const before = current();
  if (before && before !== card) before.removeAttribute("aria-current");
  card.setAttribute("aria-current", "true");
  if (card !== before) card.dispatchEvent(new CustomEvent("workbench:current", { bubbles: true }));
  if (!focus) return;
  unfold(card);
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest" });
}

function unfold(card) {
  const fold = card.querySelector("details.fold");
  if (fold) fold.open = true;
}

// A card that the keys only passed by folds again behind them.
function refold(card) {
  const fold = card?.querySelector("details.fold[data-passing]");
  if (fold) fold.open = false;
}

// Cards that the page left for later stand behind a link; keys and links to a card go on when they have come.
function fetched(more, then) {
  const arrived = () => {
    if (more.isConnected) return; // something else came
    document.removeEventListener("htmx:load", arrived);
    then();
  };
  document.addEventListener("htmx:load", arrived);
  more.click();
}

// The link between two cards, or behind the last one.
function moreBetween(from, to) {
  const behind = (one, other) => one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;
  return [...document.querySelectorAll("[data-cards-more]")].find(
    (more) => behind(from, more) && (!to || to === from || behind(more, to)),
  );
}

function step(by) {
  const all = cards();
  const here = all.indexOf(current());
  const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(here + by, 0), all.length - 1);
  const [from, to] = [current(), all[next]];
  const more = from && by > 0 && moreBetween(from, to);
  if (more) return fetched(more, () => step(by));
  if (from !== to) refold(from);
  const fold = to?.querySelector("details.fold:not([open])");
  if (fold) fold.dataset.passing = "";
  makeCurrent(to);
}

// A link to a card (a citation, a way back) makes it current.
function followHash() {
  const name = location.hash.length > 1 && decodeURIComponent(location.hash.slice(1));
  const card = name && document.getElementById(name);
  if (card?.matches?.("[data-card]")) return makeCurrent(card);
  const more = name && !card && document.querySelector("[data-cards-more]");
  if (!more) return;
  if (document.readyState === "complete") fetched(more, followHash);
  else window.addEventListener("load", followHash, { once: true }); // htmx has not seen the link yet
}

const topOfButtons = (card) => card.querySelector(".card__acts > .button-row")?.getBoundingClientRect().top;

// What the page says above the cards may have become longer or shorter with the decision.
function holdButtons(card) {
  const moved = swapped.id === card.id && topOfButtons(card) - swapped.top;
  if (moved) window.scrollBy({ top: moved, behavior: "instant" });
}

function afterDecision(card) {
  const all = cards();
  const here = all.indexOf(card);
  const isOpen = (other) => other.matches("[data-card-open]");
  if (card.querySelector("[role=alert]") || isOpen(card)) return makeCurrent(card);
  // Nothing may move under a pointer that has just pressed a button.
  if (byPointer) {
    unfold(card);
    makeCurrent(card, { focus: false });
    return holdButtons(card);
  }
  makeCurrent(all.slice(here + 1).find(isOpen) ?? all.find(isOpen) ?? card);
}

document.addEventListener("pointerdown", () => (byPointer = true), true);
document.addEventListener("keydown", () => (byPointer = false), true);
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-cards-step]");
  if (button) return step(Number(button.dataset.cardsStep));
  const card = event.target.closest?.("[data-card]");
  if (card) makeCurrent(card, { focus: false });
});
document.addEventListener("focusin", (event) => {
  makeCurrent(event.target.closest?.("[data-card]"), { focus: false });
});
document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  swapped = target?.matches?.("[data-card]") ? { id: target.id, top: topOfButtons(target) } : {};
});
document.addEventListener("htmx:load", (event) => {
  if (event.target.matches?.("[data-card]")) afterDecision(event.target);
});
// A card may also be unfolded by a search of the browser.
document.addEventListener("toggle", (event) => event.target.matches?.("details.fold[open]") && wake(event.target.closest("[data-card]")), true);
window.addEventListener("hashchange", followHash);
followHash();
// Keys mean the only card even while it is not the current one.
if (cards().length === 1) wake(cards()[0]);
// The next card of the queue (queue.js).
document.addEventListener("workbench:arrived", (event) => wake(event.target));
