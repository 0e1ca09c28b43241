/* The page of the web chat: what is unsent, the line to the gateway, and the composer.

Entries come by two roads: the stream brings what is shown from now on, the history has everything. Whenever the stream
opens, the page first sends what is still unsent, then reads the history, and puts all of it together by id: nothing is
missing, nothing is there twice.

A message has an id of its own before it is sent, and keeps it however often it is sent; it waits in the tab's session
storage until the gateway has it. */

import { add, addUnsent, bind, change, merge, preview, stayAtEnd } from "./entries.js";
import { element, language, WORDS } from "./words.js";

const FIRST_PAUSE = 400; // milliseconds before the first new try; doubled up to the longest
const LONGEST_PAUSE = 8000;
const CALL_LIMIT = 20000; // milliseconds for one request
const SILENCE_LIMIT = 40000; // the gateway sends a comment every 15 seconds
const LOST_LIMIT = 6000; // a restart takes less; what takes longer is said
const HIDDEN_LIMIT = 60000; // a tab nobody looks at gives its connection back: browsers allow six of them
const RESEND_PAUSE = 3000;
const BUSY_PAUSE = 1000; // where the gateway names none

const base = document.documentElement.dataset.base;
const byId = (id) => document.getElementById(id);
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

class Refused extends Error {
  constructor(status, detail, retryAfter) {
    super(detail);
    Object.assign(this, { status, detail, retryAfter });
  }
}

async function call(path, options = {}) {
  const response = await fetch(base + path, { cache: "no-store", signal: AbortSignal.timeout(CALL_LIMIT), ...options });
  if (response.ok) return response.json();
  const problem = await response.json().catch(() => ({}));
  throw new Refused(response.status, problem.detail || "", 1000 * Number(response.headers.get("Retry-After") || 0));
}

// ------------------------------------------------------------------ what is unsent

const outbox = {
  key: `frontdesk:unsent:${new URL(base, location.href).pathname}`,
  waiting: [], // {id, text, node, isFailed}
  flushing: null,

  restore() {
    try {
      for (const { id, text } of JSON.parse(sessionStorage.getItem(this.key) || "[]")) this.show(id, text);
    } catch {
      this.waiting = []; // no storage, or not ours
    }
  },

  store() {
    try {
      sessionStorage.setItem(this.key, JSON.stringify(this.waiting.map(({ id, text }) => ({ id, text }))));
    } catch {
      return; // private windows may have no storage; then a reload forgets what is unsent
    }
  },

  show(id, text) {
    change(() => {
      this.waiting.push({ id, text, node: addUnsent(text), isFailed: false });
      this.say(this.waiting.at(-1), WORDS.sending);
    });
  },

  send(text) {
    stayAtEnd();
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    this.show([...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(""), text);
    this.store();
    this.flush();
  },

  say(message, ...words) {
    message.node.querySelector(".foot").replaceChildren(...words);
  },

  /* The gateway has it, and calls it `entry`; false when the message is not of this page. */
  accept(id, entry, at) {
    const message = this.waiting.find((each) => each.id === id);
    if (!message) return false;
    this.waiting.splice(this.waiting.indexOf(message), 1);
    this.store();
    change(() => bind(message.node, entry, at));
    return true;
  },

  fail(message, detail) {
    message.isFailed = true;
    message.node.classList.replace("waiting", "failed");
    const retry = element("button", { type: "button", className: "plain" }, WORDS.retry);
    retry.addEventListener("click", () => {
      message.isFailed = false;
      message.node.classList.replace("failed", "waiting");
      this.flush();
    });
    const why = detail ? `${WORDS.failed}: ${detail} ` : `${WORDS.failed}. `;
    this.say(message, element("span", { className: "bad" }, why), retry);
  },

  /* One at a time and in order, until all is sent or the gateway cannot be reached. */
  flush() {
    this.flushing ??= this.sendAll().finally(() => (this.flushing = null));
    return this.flushing;
  },

  async sendAll() {
    for (let next = this.next(); next; next = this.next()) {
      if (!(await this.post(next))) {
        setTimeout(() => this.flush(), RESEND_PAUSE);
        return;
      }
    }
  },

  next() {
    return this.waiting.find((message) => !message.isFailed);
  },

  /* False when the gateway cannot be reached. */
  async post(message) {
    this.say(message, WORDS.sending);
    try {
      const answer = await call("messages", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ id: message.id, text: message.text }),
      });
      this.accept(message.id, answer.envelope, Date.now() / 1000);
      line.check(answer.visitor);
      return true;
    } catch (error) {
      return error instanceof Refused ? this.judge(message, error) : this.wait(message);
    }
  },

  wait(message) {
    this.say(message, WORDS.offline);
    line.hurry();
    return false;
  },

  async judge(message, error) {
    if (error.status === 401) {
      await call("history").catch(() => null); // gives the cookie
      await sleep(FIRST_PAUSE);
    } else if (error.status === 429 || error.status >= 500) {
      this.say(message, WORDS.busy);
      await sleep((error.retryAfter || BUSY_PAUSE) * (1 + Math.random() / 2));
    } else this.fail(message, error.detail);
    return true;
  },
};

// ------------------------------------------------------------------ the line to the gateway

const line = {
  state: "",
  visitor: "", // whose stream it is
  hurry: () => {}, // try now instead of after the pause
  leave: () => {}, // end the present stream
  patience: 0, // the timer of a line that is lost

  become(state) {
    if (state === this.state) return;
    clearTimeout(this.patience);
    if (state === "lost") this.patience = setTimeout(() => this.become("away"), LOST_LIMIT);
    this.state = state;
    byId("line").dataset.state = state;
    byId("line").textContent = WORDS[state];
  },

  /* For as long as the page is open. */
  async keep() {
    this.become("connecting");
    for (let pause = FIRST_PAUSE; ; ) {
      await visible();
      const wasOpen = await this.follow();
      if (document.hidden) continue;
      if (this.state !== "away") this.become("lost");
      pause = wasOpen ? FIRST_PAUSE : Math.min(pause * 2, LONGEST_PAUSE);
      await this.pause(pause * (0.7 + 0.6 * Math.random()));
    }
  },

  pause(milliseconds) {
    return new Promise((resolve) => {
      this.hurry = resolve;
      setTimeout(resolve, milliseconds);
    });
  },

  /* One stream, from its opening to its end; true when it was open. */
  async follow() {
    const control = new AbortController();
    this.leave = () => control.abort();
    let watchdog = setTimeout(this.leave, CALL_LIMIT);
    let wasOpen = false;
    try {
      const response = await fetch(`${base}events`, { cache: "no-store", signal: control.signal });
      const isFull = response.status === 429 || response.status === 503;
      if (isFull && (await this.refresh())) this.become("connecting"); // no stream, but it is there: look by hand
      if (!response.ok) return false;
      for await (const event of eventsOf(response.body)) {
        clearTimeout(watchdog);
        watchdog = setTimeout(this.leave, SILENCE_LIMIT);
        wasOpen = true;
        this.take(event);
      }
    } catch {
      return wasOpen; // the road is cut; the caller tries again
    } finally {
      clearTimeout(watchdog);
      control.abort();
    }
    return wasOpen;
  },

  take({ name, data }) {
    if (name === "hello") {
      this.visitor = data.visitor;
      this.become("open");
      this.catchUp();
    } else if (name === "entry") {
      if (!(data.sent && outbox.accept(data.sent, data.id, data.at))) change(() => add(data));
    } else if (name === "preview") preview(data.turn, data.text);
  },

  /* Pages that are opened together for the first time may each get a cookie; the last one counts, for all of them. */
  check(visitor) {
    if (this.visitor && visitor !== this.visitor) this.leave();
  },

  /* What was unsent goes first, so that the history has it under its own id; but a busy gateway keeps nobody waiting. */
  async catchUp() {
    await Promise.race([outbox.flush(), sleep(RESEND_PAUSE)]);
    for (let tries = 0; tries < 4; tries += 1) {
      if (await this.refresh()) return;
      await sleep(FIRST_PAUSE * 2 ** tries);
    }
    this.leave(); // opening the stream again begins all of this anew
  },

  async refresh() {
    try {
      const { visitor, entries } = await call("history");
      merge(entries);
      this.check(visitor);
      return true;
    } catch {
      return false;
    }
  },
};

async function visible() {
  while (document.hidden) {
    await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
  }
}

/* Server-sent events (WHATWG HTML, 9.2) as far as this gateway writes them. A comment is an event without a name. */
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const blocks = (rest + read.value).split("\n\n");
      rest = blocks.pop();
      yield* blocks.map(eventOf);
    }
  } finally {
    reader.cancel().catch(() => null);
  }
}

function eventOf(block) {
  const fields = new Map(block.split("\n").map((each) => each.split(/: ?(.*)/s, 2)));
  return { name: fields.get("event"), data: JSON.parse(fields.get("data") || "null") };
}

// ------------------------------------------------------------------ the composer

const text = byId("text");

function fit() {
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight + 2}px`; // with its borders
}

function say(words) {
  if (words.trim()) outbox.send(words.trim());
}

byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  say(text.value);
  text.value = "";
  fit();
  text.focus();
});

text.addEventListener("input", fit);
text.addEventListener("keydown", (event) => {
  const isComposing = event.isComposing || event.keyCode === 229; // Enter chooses a word in an input method
  if (event.key === "Enter" && !event.shiftKey && !isComposing) {
    event.preventDefault();
    byId("composer").requestSubmit();
  }
});

byId("newest").addEventListener("click", () => {
  stayAtEnd();
  text.focus();
});

let hiding = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => line.leave(), HIDDEN_LIMIT);
});
window.addEventListener("online", () => line.hurry());

document.documentElement.lang = language;
text.placeholder = WORDS.placeholder;
document.querySelector("label[for=text]").textContent = WORDS.text;
byId("send").textContent = WORDS.send;
byId("empty").textContent = WORDS.empty;
byId("newest").textContent = WORDS.newest;
byId("log").setAttribute("aria-label", WORDS.log);
byId("entries").setAttribute("aria-label", WORDS.log);
const help = element("button", { type: "button", className: "plain" }, "/help");
help.addEventListener("click", () => say("/help"));
byId("hint").append(element("span", { className: "keys" }, WORDS.keys), help, WORDS.help);

outbox.restore();
line.keep();
