// Between two polls of a running piece of work: the elapsed time ticks; after failed polls a sentence says so; when
// it ends, that is read out. Polling itself is htmx's, and stops because the server's last answer has no trigger.

const FAILED_POLLS = 3;
const failures = new Map();
const format = (seconds) => new Intl.NumberFormat(document.documentElement.lang, { minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(seconds);
const received = new WeakMap();

function tick() {
  const now = performance.now();
  for (const box of document.querySelectorAll("[data-progress=running] [data-elapsed]")) {
    if (!received.has(box)) received.set(box, now);
    box.textContent = `${format(Number(box.dataset.elapsed) + (now - received.get(box)) / 1000)} s`;
  }
}

function note(event, failed) {
  const box = event.target.closest?.("[data-progress]");
  if (!box) return;
  const count = failed ? (failures.get(box.id) ?? 0) + 1 : 0;
  failures.set(box.id, count);
  box.querySelector("[data-progress-stalled]")?.toggleAttribute("hidden", count < FAILED_POLLS);
}

for (const name of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
  document.addEventListener(name, (event) => note(event, true));
}
document.addEventListener("htmx:load", (event) => {
  const box = event.target;
  if (!box.matches?.("[data-progress]")) return;
  failures.delete(box.id);
  if (["running", "queued"].includes(box.dataset.progress)) return;
  const text = box.querySelector(".progress__head").innerText.replace(/\s+/g, " ");
  document.dispatchEvent(new CustomEvent("workbench:announce", { detail: { text } }));
});

setInterval(tick, 500);
