// What pages do beyond links and forms: they follow changes, submit choices, and copy commands.
"use strict";
document.documentElement.classList.add("js");
const root = document.documentElement.dataset.root || ""; // of a project on a gateway

// The proof that the code was entered. Other servers on this machine get the cookie, but not this.
const PROOF = "remit-proof";
const unlocked = document.querySelector(`meta[name="${PROOF}"]`);
if (unlocked) {
  sessionStorage.setItem(PROOF, unlocked.content);
  const next = document.getElementById("continue");
  if (next.matches("form")) next.submit();
  else location.replace(next.href);
}
// A proof of another session, such as of an earlier `remit web`, is worth nothing.
if (document.documentElement.classList.contains("locked")) sessionStorage.removeItem(PROOF);
if (!sessionStorage.getItem(PROOF)) document.documentElement.classList.add("no-proof");
document.addEventListener("submit", (event) => {
  const path = new URL(event.target.action).pathname;
  if (path.endsWith("/sign-out")) sessionStorage.removeItem(PROOF);
  const proof = sessionStorage.getItem(PROOF);
  if (event.target.method !== "post" || path === "/code") return;
  if (event.target.elements.code) attach(event.target, "keeps_proof", "yes");
  else if (proof) attach(event.target, "proof", proof);
});
function attach(form, name, value) {
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name, value });
  form.append(field);
}

// With the proof, a form does not ask for the code.
function withoutCode(part) {
  if (sessionStorage.getItem(PROOF)) part.querySelectorAll(".code-field").forEach((each) => each.remove());
}
withoutCode(document);
document.addEventListener("htmx:afterSwap", (event) => withoutCode(event.target));

// Questions do not move under the pointer: new ones are added at the end, and answered ones stay, inert.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { target: listing, serverResponse, isError } = event.detail;
  const shown = listing.querySelectorAll("[data-key]");
  if (!listing.matches("[data-in-place]") || !shown.length || isError) return;
  event.detail.shouldSwap = false;
  const received = new DOMParser().parseFromString(serverResponse, "text/html");
  const found = new Map([...received.querySelectorAll("[data-key]")].map((each) => [each.dataset.key, each]));
  for (const question of shown) {
    const now = found.get(question.dataset.key);
    if (!now) retire(question);
    else if (question.classList.contains("answered")) question.replaceWith(now);
    else keepDeadline(question, now);
    found.delete(question.dataset.key);
  }
  listing.append(...found.values());
  withoutCode(listing);
});
function retire(question) {
  if (question.classList.contains("answered")) return;
  question.classList.add("answered");
  question.querySelectorAll("button, input").forEach((each) => (each.disabled = true));
  const note = document.createElement("span");
  Object.assign(note, { className: "chip", textContent: "no longer waiting" });
  question.querySelector("h2").append(" ", note);
}
function keepDeadline(question, now) {
  const until = question.querySelector("[data-until]");
  if (until) until.textContent = now.querySelector("[data-until]").textContent;
}

let feed = null;
function follow() {
  if (document.hidden || feed) return;
  feed = new EventSource(`${root}/events`);
  // A page that is left while it loads may never get htmx.
  feed.addEventListener("change", () => window.htmx?.trigger(document.body, "remit:change"));
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
