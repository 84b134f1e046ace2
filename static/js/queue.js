// The queue goes on to its next card without a new page: the card that comes takes the focus and is read out, with
// what was decided before it. The address and the title are htmx's part.

document.addEventListener("htmx:afterSettle", (event) => {
  const main = event.target.closest?.("#main") ?? document.getElementById("main");
  if (event.detail.requestConfig?.target?.id !== "main" && event.target.id !== "main") return;
  const subject = main?.querySelector("[data-card]") ?? main?.querySelector("h1");
  if (!subject) return;
  if (!subject.hasAttribute("tabindex")) subject.setAttribute("tabindex", "-1");
  subject.focus({ preventScroll: true });
  if (subject.matches("[data-card]")) subject.dispatchEvent(new CustomEvent("workbench:arrived", { bubbles: true }));
  const said = [...(main.querySelectorAll("#messages .message > span") ?? [])].map((one) => one.textContent);
  const text = [...said, document.querySelector("h1")?.textContent.trim()].filter(Boolean).join(". ");
  document.dispatchEvent(new CustomEvent("workbench:announce", { detail: { text } }));
});
