"use strict";
// The page is complete without this script, which asks for it again and changes what is different.
// So focus, selection and scroll positions stay.
const pauseMs = 2000;
const patienceMs = 10000;
const offline = document.getElementById("offline");
let answered = new Date();

function same(before, after) {
  return before.nodeType === after.nodeType && before.nodeName === after.nodeName;
}

// What is equal is left alone as a whole: most of the page, most of the time.
function change(before, after) {
  if (before.isEqualNode(after)) return;
  if (!same(before, after)) {
    before.replaceWith(after);
    return;
  }
  if (before.nodeType !== Node.ELEMENT_NODE) {
    before.nodeValue = after.nodeValue;
    return;
  }
  for (const { name } of [...before.attributes]) {
    if (!after.hasAttribute(name)) before.removeAttribute(name);
  }
  for (const { name, value } of after.attributes) {
    if (before.getAttribute(name) !== value) before.setAttribute(name, value);
  }
  const old = [...before.childNodes];
  const fresh = [...after.childNodes];
  fresh.forEach((node, index) => {
    if (index < old.length) change(old[index], node);
    else before.append(node);
  });
  old.slice(fresh.length).forEach((node) => node.remove());
}

function name(title) {
  if (document.title !== title) document.title = title;
}

async function look() {
  try {
    const answer = await fetch(location.pathname + location.search, { cache: "no-store", signal: AbortSignal.timeout(patienceMs) });
    if (!answer.ok) throw new Error(answer.statusText);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    change(document.getElementById("live"), document.adoptNode(fresh.getElementById("live")));
    name(fresh.title);
    change(document.querySelector("link"), document.adoptNode(fresh.querySelector("link")));
    answered = new Date();
    offline.hidden = true;
  } catch {
    const since = answered.toISOString().slice(0, 19).replace("T", " ");
    const said = `The process has not answered since ${since} UTC. The page shows what it said then.`;
    if (offline.hidden) document.title = `no answer · ${document.title}`;
    if (offline.textContent !== said) offline.textContent = said;
    offline.hidden = false;
  }
}

// Nobody sees a hidden page, so it asks for nothing; once it is shown, it asks at once.
let next;
let asking = false;

function wait() {
  clearTimeout(next);
  if (!document.hidden) next = setTimeout(turn, pauseMs);
}

async function turn() {
  clearTimeout(next);
  if (asking || document.hidden) return;
  asking = true;
  const asked = location.search;
  await look();
  asking = false;
  // Somebody may have gone on meanwhile.
  if (asked === location.search) wait();
  else turn();
}

function go(query) {
  history.replaceState(null, "", location.pathname + query);
  turn();
}

// Each letter would be a request.
const typingMs = 250;
let typed;

document.addEventListener("input", ({ target }) => {
  if (target.id !== "search") return;
  clearTimeout(typed);
  const text = target.value.trim();
  const query = text ? `?${new URLSearchParams({ table: text })}` : "";
  typed = setTimeout(() => go(query), typingMs);
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a.turn");
  if (!link) return;
  event.preventDefault();
  go(new URL(link.href).search);
});

document.addEventListener("visibilitychange", turn);
wait();
