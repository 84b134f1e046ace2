// Choosing lines for a form marked data-line-picker: a click on a line sets the first one, the next click the last one;
// the fields stay the truth, so that typed numbers show on the page as well. The form says when clicks count.

const form = document.querySelector("[data-line-picker]");
const field = (name) => form.elements[name];
const place = (line) => /^p(\d+)-l(\d+)$/.exec(line?.dataset.line ?? "")?.slice(1).map(Number);
const before = (one, other) => one[0] - other[0] || one[1] - other[1];
let first = null;

const span = () => [
  [Number(field("from_page").value), Number(field("from_line").value)],
  [Number(field("to_page").value), Number(field("to_line").value)],
];

function show() {
  const [start, end] = span();
  for (const line of document.querySelectorAll("[data-line]")) {
    const here = place(line);
    const chosen = here && start[1] && end[1] && before(start, here) <= 0 && before(here, end) <= 0;
    line.classList.toggle("is-chosen", Boolean(chosen));
  }
}

function write(start, end) {
  [field("from_page").value, field("from_line").value] = start;
  [field("to_page").value, field("to_line").value] = end;
  show();
}

function choose(event) {
  const here = place(event.target.closest?.("[data-line]"));
  if (!here) return;
  event.preventDefault();
  const ends = first ? [first, here].sort(before) : [here, here];
  write(...ends);
  first = first ? null : here;
}

if (form) {
  document.querySelector("[data-viewer]")?.addEventListener("click", choose);
  form.addEventListener("input", show);
  show();
  form.dataset.linePicker = "ready";
}
