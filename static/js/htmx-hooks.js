// What htmx needs to know about this product: the CSRF token, an ended session, errors shown in words, focus kept.

const toasts = document.getElementById("toasts");
const announcer = document.getElementById("announcer");
const SHOW_MS = 12000;
let focusedId = null;

function announce(text) {
  if (!announcer || !text) return;
  announcer.textContent = "";
  requestAnimationFrame(() => (announcer.textContent = text));
}

function toast(text) {
  if (!toasts || !text) return;
  const box = document.createElement("div");
  box.className = "message message--error";
  const words = document.createElement("span");
  words.textContent = text;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "button button--quiet";
  close.textContent = toasts.dataset.textClose;
  close.addEventListener("click", () => box.remove());
  const label = document.createElement("strong");
  label.textContent = toasts.dataset.textMessage;
  box.append(label, words, close);
  toasts.replaceChildren(box);
  setTimeout(() => box.remove(), SHOW_MS);
}

const sentence = (status) => {
  const texts = toasts?.dataset ?? {};
  if (status === 401 || status === 403) return texts.textRefused;
  if (status === 404 || status === 410) return texts.textMissing;
  if (status === 429) return texts.textBusy;
  return texts.textFailed;
};

document.addEventListener("htmx:configRequest", (event) => {
  const token = document.querySelector("meta[name=csrf-token]")?.content;
  if (token && event.detail.verb !== "get") event.detail.headers["X-CSRFToken"] = token;
});

// A session that ended must not put the sign-in page into a fragment: go there and come back.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  const signedOut = /<body[^>]*\sdata-entrance/.test(xhr.responseText ?? "");
  if (!signedOut) return;
  event.detail.shouldSwap = false;
  const back = encodeURIComponent(location.pathname + location.search);
  location.assign(`${new URL(xhr.responseURL || location.href).pathname}?next=${back}`);
});

document.addEventListener("htmx:responseError", (event) => toast(sentence(event.detail.xhr.status)));
document.addEventListener("htmx:sendError", (event) => {
  if (!event.target.closest?.("[data-progress]")) toast(toasts?.dataset.textNetwork);
});
document.addEventListener("htmx:timeout", () => toast(toasts?.dataset.textTimeout));

// htmx keeps the focus of an element whose id survives. When the focused control itself is gone, the
// fragment that replaced it takes the focus, so that nobody is thrown to the top of the page.
document.addEventListener("htmx:beforeSwap", (event) => {
  const target = event.detail.target;
  focusedId = target?.contains(document.activeElement) ? target.id : null;
});
document.addEventListener("htmx:afterSettle", () => {
  if (!focusedId || (document.activeElement && document.activeElement !== document.body)) return;
  const replaced = document.getElementById(focusedId);
  focusedId = null;
  if (!replaced) return;
  if (!replaced.hasAttribute("tabindex")) replaced.setAttribute("tabindex", "-1");
  replaced.focus({ preventScroll: true });
});

// The server may ask for words to be read out: HX-Trigger: {"workbench:announce": {"text": "..."}}
document.addEventListener("workbench:announce", (event) => announce(event.detail?.text ?? event.detail?.value));
document.addEventListener("workbench:toast", (event) => toast(event.detail?.text ?? event.detail?.value));
