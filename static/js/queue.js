// The queue goes on to its next card without a new page: what comes takes the focus and is read out.

document.addEventListener("htmx:afterSettle", ({ target: main }) => {
  if (main.id !== "main") return;
  const subject = main.querySelector("[data-card]") ?? main.querySelector("h1");
  subject.tabIndex = -1;
  subject.focus({ preventScroll: true });
  subject.dispatchEvent(new CustomEvent("workbench:arrived", { bubbles: true }));
  const said = [...main.querySelectorAll(".message > span, h1")].map((one) => one.textContent.trim());
  document.dispatchEvent(new CustomEvent("workbench:announce", { detail: { text: said.join(". ") } }));
});
