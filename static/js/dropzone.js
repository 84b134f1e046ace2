// Adds to a multipart form with data-dropzone: files can be dropped on it, each goes in a request of its own (three at
// a time), shows its progress, can be cancelled, and ends as received, refused with a reason, or cancelled.

const AT_ONCE = 3;

class Upload {
  constructor(form, file) {
    this.form = form;
    this.file = file;
    this.texts = form.dataset;
    this.row = this.buildRow();
  }

  buildRow() {
    const row = document.createElement("li");
    row.className = "upload";
    const name = document.createElement("span");
    name.textContent = this.file.name;
    this.state = document.createElement("span");
    this.state.className = "upload__state";
    this.state.textContent = this.texts.textWaiting;
    this.stop = document.createElement("button");
    this.stop.type = "button";
    this.stop.className = "button button--quiet";
    this.stop.textContent = this.texts.textCancel;
    this.stop.setAttribute("aria-label", `${this.texts.textCancel}: ${this.file.name}`);
    this.stop.addEventListener("click", () => this.cancel());
    this.bar = document.createElement("progress");
    this.bar.max = 1;
    this.bar.value = 0;
    this.bar.setAttribute("aria-label", this.file.name);
    row.append(name, this.state, this.stop, this.bar);
    return row;
  }

  end(text, { failed = false } = {}) {
    this.ended = true;
    this.state.textContent = text;
    this.row.classList.toggle("upload--failed", failed);
    this.bar.remove();
    this.stop.remove();
    if (failed) this.state.setAttribute("role", "alert");
  }

  cancel() {
    if (this.ended) return;
    this.end(this.texts.textCancelled);
    this.request?.abort();
  }

  send() {
    const limit = Number(this.texts.maxBytes);
    if (this.ended) return Promise.resolve();
    if (limit && this.file.size > limit) {
      this.end(this.texts.textTooLarge, { failed: true });
      return Promise.resolve();
    }
    return new Promise((done) => {
      const body = new FormData(this.form);
      body.delete("files");
      body.append("files", this.file, this.file.name);
      const request = (this.request = new XMLHttpRequest());
      request.open("POST", this.form.action);
      request.setRequestHeader("HX-Request", "true");
      request.setRequestHeader("HX-Target", this.texts.list);
      request.upload.addEventListener("progress", (event) => {
        this.state.textContent = this.texts.textSending;
        if (event.lengthComputable) this.bar.value = event.loaded / event.total;
      });
      request.addEventListener("load", () => this.answered(request));
      request.addEventListener("error", () => this.end(this.texts.textFailed, { failed: true }));
      request.addEventListener("loadend", () => done());
      request.send(body);
    });
  }

  answered(request) {
    const redirect = request.getResponseHeader("HX-Redirect");
    if (redirect) return location.assign(redirect);
    if (request.status >= 300) {
      const plain = (request.getResponseHeader("Content-Type") ?? "").startsWith("text/plain");
      return this.end(plain ? request.responseText : this.texts.textFailed, { failed: true });
    }
    this.end(this.texts.textSent);
    this.showRows(request.responseText);
    this.row.remove();
  }

  showRows(html) {
    const list = document.getElementById(this.texts.list);
    if (!list) return;
    const holder = document.createElement("template");
    holder.innerHTML = html;
    for (const row of [...holder.content.children]) {
      const known = row.id && document.getElementById(row.id);
      if (known) known.replaceWith(row);
      else list.prepend(row);
      window.htmx?.process(row);
    }
    const text = `${this.file.name}: ${this.texts.textSent}`;
    document.dispatchEvent(new CustomEvent("workbench:announce", { detail: { text } }));
  }
}

async function sendAll(form, files) {
  const list = form.querySelector("[data-uploads]");
  const waiting = [...files].map((file) => new Upload(form, file));
  list.append(...waiting.map((upload) => upload.row));
  const lane = async () => {
    for (let upload = waiting.shift(); upload; upload = waiting.shift()) await upload.send();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  form.dispatchEvent(new CustomEvent("workbench:uploaded", { bubbles: true }));
}

const zoneOf = (event) => event.target.closest?.("[data-dropzone]");

document.addEventListener("submit", (event) => {
  const form = zoneOf(event);
  const input = form?.querySelector("input[type=file]");
  if (!input?.files.length) return;
  event.preventDefault();
  const files = [...input.files];
  input.value = "";
  sendAll(form, files);
});
document.addEventListener("dragover", (event) => {
  const form = zoneOf(event);
  if (!form) return;
  event.preventDefault();
  form.classList.add("is-over");
});
for (const name of ["dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    const form = zoneOf(event);
    if (form && !(name === "dragleave" && form.contains(event.relatedTarget))) form.classList.remove("is-over");
  });
}
document.addEventListener("drop", (event) => {
  const form = zoneOf(event);
  if (!form) return;
  event.preventDefault();
  sendAll(form, event.dataTransfer.files);
});
