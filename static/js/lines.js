// The form marked data-line-picker takes the lines that are chosen in the viewer beside it; the fields stay the truth, so
// that typed numbers show on the page as well. The form says when it is ready.

const form = document.querySelector("[data-line-picker]");
const viewer = document.querySelector("[data-viewer]");
const field = (name) => form.elements[name];
const typed = (name) => [Number(field(`${name}_page`).value), Number(field(`${name}_line`).value)];
const choose = (places) => viewer.dispatchEvent(new CustomEvent("workbench:choose", { bubbles: true, detail: { places } }));
const complete = (place) => place.every((number) => number > 0);

function show() {
  const ends = [typed("from"), typed("to")];
  if (ends.every(complete)) choose(ends);
}

if (form && viewer) {
  viewer.addEventListener("workbench:lines", ({ detail: { first, last } }) => {
    if (!first) return;
    [field("from_page").value, field("from_line").value] = first;
    [field("to_page").value, field("to_line").value] = last;
  });
  form.addEventListener("change", show);
  const hit = viewer.querySelector(".lines__item--now")?.dataset.line.match(/\d+/g).map(Number);
  if (complete(typed("from"))) show();
  else if (hit) choose([hit]);
  form.dataset.linePicker = "ready";
}
