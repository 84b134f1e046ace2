// Keys: any control with data-key="a" (or a sequence, "g q") is pressed by that key. The control in the current
// card wins over one elsewhere. People may bind other keys (localStorage "workbench.keys": {default: chosen}) or
// switch single keys off ("workbench.keys.off"), as WCAG 2.1.4 asks.

const BINDINGS = "workbench.keys";
const OFF = "workbench.keys.off";
const SEQUENCE_MS = 1200;
const TYPING = "input:not([type=radio],[type=checkbox],[type=button],[type=submit]),textarea,select,[contenteditable=true]";

const read = (name, fallback) => {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? fallback;
  } catch {
    return fallback;
  }
};

const write = (name, value) => {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // without storage the binding lasts as long as the page
  }
};

let bindings = read(BINDINGS, {});
let off = read(OFF, false);
let sequence = "";
let sequenceTimer = 0;
let rebinding = null;

const keyOf = (control) => bindings[control.dataset.key] ?? control.dataset.key;

const usable = (control) =>
  !control.disabled && (control.matches("input[type=radio]") || control.checkVisibility?.() !== false);

function showHints(root = document) {
  for (const hint of root.querySelectorAll("[data-key-hint]")) {
    hint.textContent = bindings[hint.dataset.keyHint] ?? hint.dataset.keyHint;
  }
  for (const control of root.querySelectorAll("[data-key]")) {
    if (off) control.removeAttribute("aria-keyshortcuts");
    else control.setAttribute("aria-keyshortcuts", keyOf(control));
  }
}

function controlFor(keys) {
  const scopes = [document.querySelector("[data-card][aria-current=true]"), document];
  for (const scope of scopes) {
    if (!scope) continue;
    for (const control of scope.querySelectorAll("[data-key]")) {
      if ((keyOf(control) !== keys && control.dataset.keyAlso !== keys) || !usable(control)) continue;
      const otherCard = scope === document && control.closest("[data-card]");
      if (!otherCard || document.querySelectorAll("[data-card]").length === 1) return control;
    }
  }
  return null;
}

const startsSequence = (prefix) =>
  [...document.querySelectorAll("[data-key]")].some((control) => keyOf(control).startsWith(`${prefix} `));

// The override form stands beside its details element, in one container (see _candidate_card.html).
const disclosureOf = (form) => form?.parentElement.querySelector("details.override");

function press(control) {
  if (control.matches("input[type=radio]")) {
    const details = disclosureOf(control.form);
    if (details) details.open = true;
    control.checked = true;
    control.dispatchEvent(new Event("change", { bubbles: true }));
    (control.form?.querySelector("[data-after-role]") ?? control).focus();
    // A blind decision needs no reason: the key of the role records it, as at the labelling desk.
    if (control.form?.matches("[data-role-decides]")) control.form.requestSubmit();
    return;
  }
  if (control.matches("input, select")) return control.focus();
  control.click();
  if (control.matches("summary") && control.parentElement.open) {
    const form = control.closest(".card__acts")?.querySelector(".override__form") ?? control.parentElement;
    form.querySelector("input:not([type=hidden]),select,textarea")?.focus();
  }
}

function onKey(event) {
  if (rebinding) return chooseKey(event);
  // Enter on the chosen reason records the override: role, reason, Enter.
  if (event.key === "Enter" && event.target.matches?.("select[data-after-role]") && event.target.value) {
    event.preventDefault();
    return event.target.form.requestSubmit();
  }
  // Ctrl+Enter sends a form from a text of several lines, in which Enter begins a new one.
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches?.("textarea")) {
    const send = event.target.form?.querySelector("button.button--primary");
    if (send) event.preventDefault();
    return send?.click();
  }
  if (off || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest?.(TYPING) || document.querySelector("dialog[open]")) return;
  if (event.key.length !== 1 || event.key === " ") return;

  const keys = sequence ? `${sequence} ${event.key}` : event.key;
  clearTimeout(sequenceTimer);
  sequence = "";
  const control = controlFor(keys);
  if (control) {
    event.preventDefault();
    press(control);
  } else if (startsSequence(keys)) {
    sequence = keys;
    sequenceTimer = setTimeout(() => (sequence = ""), SEQUENCE_MS);
  }
}

function chooseKey(event) {
  event.preventDefault();
  event.stopPropagation();
  const status = document.querySelector("[data-rebind-status]");
  const action = rebinding.dataset.rebind;
  if (event.key !== "Escape") {
    if (event.key.length !== 1 || event.key === " ") return;
    const taken = [...document.querySelectorAll("[data-rebind]")].some(
      (row) => row !== rebinding && (bindings[row.dataset.rebind] ?? row.dataset.rebind) === event.key,
    );
    if (taken) {
      status.textContent = status.dataset.textTaken;
      return;
    }
    bindings = { ...bindings, [action]: event.key };
    write(BINDINGS, bindings);
    showHints();
  }
  status.textContent = event.key === "Escape" ? "" : status.dataset.textDone;
  rebinding = null;
}

function onClick(event) {
  const row = event.target.closest?.("[data-rebind]");
  if (row) {
    rebinding = row;
    const status = document.querySelector("[data-rebind-status]");
    status.textContent = status.dataset.textPress;
  } else if (event.target.closest?.("[data-keys-reset]")) {
    bindings = {};
    write(BINDINGS, bindings);
    showHints();
  }
}

document.addEventListener("keydown", onKey, true);
document.addEventListener("click", onClick);
document.addEventListener("focusin", (event) => {
  if (rebinding && event.target !== rebinding) rebinding = null;
});
document.addEventListener("change", (event) => {
  if (!event.target.matches?.("[data-keys-enabled]")) return;
  off = !event.target.checked;
  write(OFF, off);
  showHints();
});
for (const news of ["htmx:load", "workbench:woken"]) document.addEventListener(news, (event) => showHints(event.target));

const enabled = document.querySelector("[data-keys-enabled]");
if (enabled) enabled.checked = !off;
showHints();
