// The next card of the queue comes without a new page: it takes the focus and is read out.

document.addEventListener("htmx:afterRequest", ({ detail }) => {
  // No second key meanwhile.
  if (!detail.xhr.getResponseHeader("HX-Location")) return;
  for (const button of document.querySelectorAll("#main button")) button.disabled = true;
});
document.addEventListener("htmx:afterSettle", ({ target: main }) => {
  if (main.id !== "main") return;
  const subject = main.querySelector("[data-card]") ?? main.querySelector("h1");
  subject.tabIndex = -1;
  subject.focus({ preventScroll: true });
  subject.dispatchEvent(new CustomEvent("workbench:arrived", { bubbles: true }));
  const said = [...main.querySelectorAll(".message > span, h1")].map((one) => one.textContent.trim());
  document.dispatchEvent(new CustomEvent("workbench:announce", { detail: { text: said.join(". ") } }));
});
