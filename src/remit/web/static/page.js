// What pages do beyond links and forms: they follow changes, submit choices, and copy commands.
"use strict";
document.documentElement.classList.add("js");

let feed = null;
function follow() {
  if (document.hidden || feed) return;
  feed = new EventSource("/events");
  feed.addEventListener("change", () => htmx.trigger(document.body, "remit:change"));
}
document.addEventListener("visibilitychange", () => {
  // A browser opens few connections to one host, so pages in the background give theirs back.
  if (document.hidden && feed) {
    feed.close();
    feed = null;
  }
  follow();
});
window.addEventListener("pagehide", () => feed && feed.close());
follow();

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 2000);
});

document.addEventListener("keydown", (event) => {
  const filter = document.getElementById("q");
  const isTyping = event.target.matches("input, select, textarea");
  if (event.key === "/" && filter && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    filter.focus();
    filter.select();
  }
});

const title = document.title;
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id !== "waiting-count") return;
  const badge = event.target.querySelector("[data-waiting]");
  document.title = badge ? `(${badge.dataset.waiting}) ${title}` : title;
});
