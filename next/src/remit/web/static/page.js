// What pages do beyond links and forms: they follow changes, submit choices, and copy commands.
"use strict";
document.documentElement.classList.add("js");

// Questions do not move under the pointer: new ones are added at the end, and answered ones stay, inert.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, serverResponse, isError } = event.detail;
  if (isError || !target.querySelector("[data-in-place] [data-key]")) return;
  event.detail.shouldSwap = false;
  const received = new DOMParser().parseFromString(serverResponse, "text/html");
  for (const part of received.querySelectorAll("[data-part]")) {
    const shown = document.getElementById(part.id);
    if (part.matches("[data-in-place]")) merge(shown, part);
    else shown.replaceWith(part);
  }
  htmx.process(target);
});
function merge(listing, received) {
  const found = new Map([...received.querySelectorAll("[data-key]")].map((question) => [question.dataset.key, question]));
  for (const question of listing.querySelectorAll("[data-key]")) {
    const now = found.get(question.dataset.key);
    if (!now) retire(question);
    else if (question.classList.contains("answered")) question.replaceWith(now);
    else keepDeadline(question, now);
    found.delete(question.dataset.key);
  }
  listing.append(...found.values());
}
function retire(question) {
  if (question.classList.contains("answered")) return;
  question.classList.add("answered");
  question.querySelectorAll("button, input").forEach((control) => (control.disabled = true));
  const note = document.createElement("span");
  Object.assign(note, { className: "chip", textContent: "no longer waiting" });
  question.querySelector("h3").append(" ", note);
}
function keepDeadline(question, now) {
  const until = question.querySelector("[data-until]");
  if (until) until.textContent = now.querySelector("[data-until]").textContent;
}

let feed = null;
function follow() {
  if (document.hidden || feed) return;
  const page = document.documentElement.dataset;
  feed = new EventSource(`/events?since=${page.revision}`);
  // A page that is left while it loads may never get htmx.
  feed.addEventListener("change", (event) => {
    page.revision = event.data;
    window.htmx?.trigger(document.body, "remit:change");
  });
}
document.addEventListener("visibilitychange", () => {
  // A browser opens few connections to one host, so pages in the background give theirs back.
  if (document.hidden && feed) {
    feed.close();
    feed = null;
  }
  follow();
});
window.addEventListener("pagehide", () => feed?.close());
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
