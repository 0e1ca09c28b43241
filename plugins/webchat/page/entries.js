/* The list of what was said. An entry has one id, by whatever road it comes, and is shown once. */

import { link, markdown, SAFE_LINK } from "./markdown.js";
import { element, language, WORDS } from "./words.js";

const TYPING_LIMIT = 10000; // milliseconds that a sign of work stays without another one
const PREVIEW_LIMIT = 60000;
const SHOWN_MOST = 1000; // entries in the page

const log = document.getElementById("log");
const entries = document.getElementById("entries");
const newest = document.getElementById("newest");
const shown = new Map(); // id of an entry -> its node
const replaced = new Set();
const previews = new Map(); // turn -> {node, timer}
let isAtEnd = true;
let isByHand = false; // whether the reader touched the list since the page last showed its end
let top = 0; // where the reader was when the page last looked

const clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });
const calendar = new Intl.DateTimeFormat(language, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });

function timeOf(seconds) {
  const date = new Date(seconds * 1000);
  const isToday = date.toDateString() === new Date().toDateString();
  const words = (isToday ? clock : calendar).format(date);
  return element("time", { dateTime: date.toISOString() }, words);
}

/* Everything that changes the list goes through here, so that a reader at its end stays there. */
export function change(work) {
  look();
  work();
  document.getElementById("empty").hidden = entries.childElementCount > 0;
  if (isAtEnd) stayAtEnd();
  else newest.hidden = false;
}

function nodeOf(entry) {
  const bubble = element("div", { className: "bubble" });
  if (entry.own) bubble.append(element("span", { className: "unseen" }, `${WORDS.you}: `), entry.text);
  else bubble.append(...markdown(entry.markdown), ...fileLinks(entry.files));
  const node = element("li", { className: `entry ${entry.own ? "own" : "theirs"}` }, bubble);
  node.append(element("p", { className: "foot" }, timeOf(entry.at)));
  node.at = entry.at;
  node.dataset.id = entry.id;
  return node;
}

function fileLinks(files) {
  return (files || []).map((file) => {
    const name = `📎 ${file.name}`;
    return element("p", {}, SAFE_LINK.test(file.url || "") ? link(file.url, name) : name);
  });
}

/* One entry: where it takes another one's place, there; else after everything that is finished. */
export function add(entry) {
  if (shown.has(entry.id) || replaced.has(entry.id)) return;
  const node = nodeOf(entry);
  let place = null;
  for (const old of entry.replaces || []) {
    replaced.add(old);
    if (place && shown.has(old)) shown.get(old).remove();
    place = place || shown.get(old);
    shown.delete(old);
  }
  if (place) place.replaceWith(node);
  else entries.insertBefore(node, firstOfUnfinishedEnd());
  shown.set(entry.id, node);
  if (!entry.own) endPreview(entry.turn);
}

/* A message of this page's own, until `bind` says what the gateway calls it. */
export function addUnsent(text) {
  const node = nodeOf({ id: "", at: Date.now() / 1000, own: true, text });
  node.classList.add("waiting");
  entries.append(node);
  return node;
}

export function bind(node, id, at) {
  if (shown.has(id)) {
    node.remove(); // the history was faster
    return;
  }
  node.classList.remove("waiting", "failed");
  node.dataset.id = id;
  node.at = at;
  node.querySelector(".foot").replaceChildren(timeOf(at), ` · ${WORDS.sent}`);
  shown.set(id, node);
}

function firstOfUnfinishedEnd() {
  let first = null;
  for (let node = entries.lastElementChild; node?.matches(".preview, .waiting, .failed"); node = node.previousElementSibling) {
    first = node;
  }
  return first;
}

/* The history is the truth about order; what it does not have is older than it, or newer. */
export function merge(history) {
  change(() => {
    for (const entry of history) for (const old of entry.replaces || []) replaced.add(old);
    for (const entry of history) add(entry);
    const known = history.map((entry) => shown.get(entry.id)).filter(Boolean);
    const isKnown = new Set(known);
    const others = [...entries.children].filter((node) => !isKnown.has(node));
    const begin = known.length ? known[0].at : 0;
    const older = others.filter((node) => node.dataset.id && node.at < begin);
    const newer = others.filter((node) => !older.includes(node));
    arrange([...older, ...known, ...newer]);
  });
}

function arrange(nodes) {
  nodes.forEach((node, at) => {
    if (entries.children[at] !== node) entries.insertBefore(node, entries.children[at] || null);
  });
  while (entries.childElementCount > SHOWN_MOST) {
    shown.delete(entries.firstElementChild.dataset.id);
    entries.firstElementChild.remove();
  }
}

// ------------------------------------------------------------------ what is still being made

export function preview(turn, text) {
  change(() => {
    const open = previews.get(turn) || beginPreview(turn);
    if (text) {
      open.node.firstChild.replaceChildren(...markdown(text, true));
      open.hasText = true;
    }
    clearTimeout(open.timer);
    open.timer = setTimeout(() => change(() => endPreview(turn)), open.hasText ? PREVIEW_LIMIT : TYPING_LIMIT);
  });
}

function beginPreview(turn) {
  const dots = element("span", { className: "dots" }, element("i"), element("i"), element("i"));
  const bubble = element("div", { className: "bubble" }, dots, element("span", { className: "unseen" }, WORDS.typing));
  const node = element("li", { className: "entry theirs preview" }, bubble);
  node.setAttribute("aria-live", "off"); // the finished answer is read out, not each word
  entries.append(node);
  const open = { node, timer: 0, hasText: false };
  previews.set(turn, open);
  return open;
}

function endPreview(turn) {
  const open = previews.get(turn);
  if (!open) return;
  clearTimeout(open.timer);
  open.node.remove();
  previews.delete(turn);
}

// ------------------------------------------------------------------ the reader's place

export function stayAtEnd() {
  isAtEnd = true;
  isByHand = false;
  newest.hidden = true;
  log.scrollTop = log.scrollHeight;
  top = log.scrollTop;
}

/* Only a reader's hand leaves the end; any other move is the browser's, which finds a new place when the room changes. The
   event of a reader's scrolling comes a frame after it, and words may come in between. */
function look() {
  if (log.scrollTop === top) return;
  top = log.scrollTop;
  const isNear = log.scrollHeight - top - log.clientHeight < 60;
  if (isNear || isByHand) isAtEnd = isNear;
  if (isNear) newest.hidden = true;
  else if (isAtEnd) stayAtEnd();
}

function byHand(event) {
  const isElsewhere = event.type === "keydown" && event.target.id === "text";
  const isOnWords = event.type === "pointerdown" && event.target !== log; // no scroll bar
  if (!isElsewhere && !isOnWords) isByHand = true;
}

log.addEventListener("scroll", look);
for (const kind of ["wheel", "touchmove", "pointerdown"]) log.addEventListener(kind, byHand, { passive: true });
document.addEventListener("keydown", byHand);
/* A keyboard that opens, a phone that is turned, letters that are made larger: who was at the end is still there. */
const resized = new ResizeObserver(() => {
  if (isAtEnd) stayAtEnd();
});
resized.observe(log);
resized.observe(entries);
