// Dialogs are <dialog>, menus are <details data-menu>; this opens the first and closes the second. Copy buttons too.

async function toClipboard(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // none outside a secure context: the older way
  const [field, focused] = [document.createElement("textarea"), document.activeElement];
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  focused?.focus();
}

document.addEventListener("click", async (event) => {
  const opener = event.target.closest?.("[data-dialog-open]");
  if (opener) {
    document.getElementById(opener.dataset.dialogOpen)?.showModal();
    return;
  }
  if (event.target.matches?.("dialog")) event.target.close(); // a click on the backdrop
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  const copy = event.target.closest?.("[data-copy]");
  if (!copy) return;
  await toClipboard(copy.dataset.copy || copy.closest("[data-json]").querySelector("code").textContent);
  document.dispatchEvent(new CustomEvent("workbench:announce", { detail: { text: copy.dataset.textCopied } }));
  copy.textContent = copy.dataset.textCopied;
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
