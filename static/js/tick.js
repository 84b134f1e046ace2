// A box that ticks every box of a name which belongs to its form, wherever they stand; shown only where it works.

function show(root) {
  for (const box of root.querySelectorAll?.("[data-tick-all]") ?? []) box.parentElement.hidden = false;
}

document.addEventListener("change", (event) => {
  const name = event.target.dataset?.tickAll;
  if (!name) return;
  for (const box of event.target.form.elements) if (box.name === name) box.checked = event.target.checked;
});
document.addEventListener("htmx:load", (event) => show(event.target));
show(document);
