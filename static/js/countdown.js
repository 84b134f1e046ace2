// How long a claimed card stays with its reader: [data-countdown] holds the moment of its end.

const TICK_MS = 1000;
const MINUTE_MS = 60_000;

function show(clock) {
  const left = Date.parse(clock.dataset.countdown) - Date.now();
  const minutes = Math.floor(left / MINUTE_MS);
  const seconds = Math.floor((left % MINUTE_MS) / 1000);
  clock.textContent = left > 0 ? `(${minutes}:${String(seconds).padStart(2, "0")})` : `(${clock.dataset.textOver})`;
  return left > 0;
}

function start(root) {
  for (const clock of root.querySelectorAll("[data-countdown]:empty")) {
    show(clock);
    const timer = setInterval(() => (clock.isConnected && show(clock)) || clearInterval(timer), TICK_MS);
  }
}

document.addEventListener("htmx:load", (event) => start(event.target));
start(document);
