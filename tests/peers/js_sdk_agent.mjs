// An A2A agent made with the official SDK for JavaScript (@a2a-js/sdk 1.3.0), beside the one for Python (sdk_agent.py).
//
// Run by the peer's own Node.js: node js_sdk_agent.mjs --modules .peers/javascript --port 0 --store memory. It speaks
// JSON-RPC (at /) and HTTP+JSON (under /rest), each of 1.0 and, by the SDK's compatibility layer, of 0.3, streams, pushes
// in either version's form, and prints `listening on PORT`. What it does is the message's first word: echo, book, hold,
// fail, as sdk_agent.py says, and `sign in`, which demands a sign-in and goes on at the release. `--store file:PATH` keeps
// tasks over restarts by a store of the test's own, since the SDK's needs a database driver.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    modules: { type: "string" },
    port: { type: "string", default: "0" },
    store: { type: "string", default: "memory" },
    gap: { type: "string", default: "0.05" }, // seconds; as of sdk_agent.py, not used here
  },
});
const installed = createRequire(join(resolve(options.modules), "package.json"));
const express = installed("express");
const { AgentCard, Task, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent } = installed("@a2a-js/sdk");
const { AgentEvent, DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } =
  installed("@a2a-js/sdk/server");
const { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } = installed("@a2a-js/sdk/server/express");
const { createLegacyAwarePushNotificationSender } = installed("@a2a-js/sdk/compat/v0_3/server");

const QUESTION = "Which day?";
const SIGN_IN = "Sign in at https://idp.example";

class Control {
  constructor() {
    this.texts = [];
    this.waiting = 0;
    this.watchers = [];
    this.released = new Promise((go) => (this.go = go));
  }

  async hold() {
    this.count(1);
    await this.released;
    this.count(-1);
  }

  count(step) {
    this.waiting += step;
    this.watchers = this.watchers.filter(({ n, tell }) => (this.waiting >= n ? tell() : true));
  }

  held(n) {
    return new Promise((tell) => {
      this.watchers.push({ n, tell: () => (tell(), false) });
      this.count(0);
    });
  }
}

class FileTaskStore extends InMemoryTaskStore {
  constructor(path) {
    super();
    this.path = path;
    try {
      this.kept = JSON.parse(readFileSync(path, "utf8"));
    } catch {
      this.kept = {};
    }
  }

  async save(task, context) {
    await super.save(task, context);
    this.kept[task.id] = Task.toJSON(task);
    writeFileSync(this.path, JSON.stringify(this.kept));
  }

  async load(id, context) {
    const known = await super.load(id, context);
    return known ?? (this.kept[id] ? Task.fromJSON(this.kept[id]) : undefined);
  }
}

class Desk {
  constructor(control) {
    this.control = control;
    this.cancelled = new Set();
  }

  async execute(context, bus) {
    const said = new Saying(context, bus);
    const text = context.userMessage.parts.map((part) => part.content?.value ?? "").join("\n");
    const [word] = text.split(" ");
    const rest = text.slice(word.length + 1);
    const isAnswer = context.task?.status?.state === TaskState.TASK_STATE_INPUT_REQUIRED;
    this.control.texts.push(text);
    said.begin();
    if (isAnswer) {
      said.show([`Booked for ${text}`]);
      said.status("COMPLETED");
    } else if (word === "book") {
      said.status("INPUT_REQUIRED", QUESTION);
    } else if (word === "sign") {
      said.status("AUTH_REQUIRED", SIGN_IN);
      await this.control.hold();
      said.status("WORKING");
      said.show(["three invoices"]);
      said.status("COMPLETED");
    } else if (word === "fail") {
      said.status("FAILED", "It went wrong");
    } else if (word === "hold") {
      await this.hold(context.taskId, said, Number(rest));
    } else {
      said.show(word === "echo" ? rest.split(/(?<= )/) : [text]);
      said.status("COMPLETED");
    }
    bus.finished();
  }

  async hold(id, said, chunks) {
    for (let index = 0; index < chunks && !this.cancelled.has(id); index++) {
      said.chunk(`${index + 1} `, index, chunks);
      if (index === 0) await this.control.hold();
    }
    if (!this.cancelled.has(id)) said.status("COMPLETED");
  }

  async cancelTask(id, bus) {
    this.cancelled.add(id);
    const status = { state: "TASK_STATE_CANCELED", timestamp: new Date().toISOString() };
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId: id, status })));
    bus.finished();
  }
}

class Saying {
  constructor(context, bus) {
    this.ids = { taskId: context.taskId, contextId: context.contextId };
    this.context = context;
    this.bus = bus;
  }

  begin() {
    const { taskId: id, contextId } = this.ids;
    const status = { state: "TASK_STATE_SUBMITTED", timestamp: new Date().toISOString() };
    const made = this.context.task ?? Task.fromJSON({ id, contextId, status });
    this.bus.publish(AgentEvent.task(this.context.task ? made : { ...made, history: [this.context.userMessage] }));
    this.status("WORKING");
  }

  status(state, text) {
    const status = { state: `TASK_STATE_${state}`, timestamp: new Date().toISOString() };
    if (text) status.message = { messageId: crypto.randomUUID(), role: "ROLE_AGENT", parts: [{ text }], ...this.ids };
    this.bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ ...this.ids, status })));
  }

  show(chunks) {
    chunks.forEach((text, index) => this.chunk(text, index, chunks.length));
  }

  chunk(text, index, count) {
    const artifact = { artifactId: "answer", parts: [{ text }] };
    const said = { ...this.ids, artifact, append: index > 0, lastChunk: index === count - 1 };
    this.bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(said)));
  }
}

function card(port) {
  const base = `http://127.0.0.1:${port}`;
  const urls = { JSONRPC: `${base}/`, "HTTP+JSON": `${base}/rest` };
  const supportedInterfaces = ["1.0", "0.3"].flatMap((protocolVersion) =>
    Object.entries(urls).map(([protocolBinding, url]) => ({ url, protocolBinding, protocolVersion })),
  );
  return AgentCard.fromJSON({
    name: "js-sdk-agent",
    description: "Echoes, books, holds and fails",
    version: "1.0.0",
    supportedInterfaces,
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "desk", name: "Desk", description: "Does what it is told", tags: ["desk"] }],
  });
}

const control = new Control();
const app = express();
const server = app.listen(Number(options.port), "127.0.0.1", () => {
  const { port } = server.address();
  const tasks = options.store === "memory" ? new InMemoryTaskStore() : new FileTaskStore(options.store.slice(5));
  const pushes = new InMemoryPushNotificationStore();
  const sender = createLegacyAwarePushNotificationSender(pushes);
  const requestHandler = new DefaultRequestHandler(card(port), tasks, new Desk(control), undefined, pushes, sender);
  const shared = { requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat: { enabled: true } };
  app.post("/control/release", (_, answer) => {
    const released = control.waiting;
    control.go();
    answer.json({ released });
  });
  app.get("/control/held", async (request, answer) => {
    await control.held(Number(request.query.n ?? 1));
    answer.json({ held: control.waiting });
  });
  app.get("/control/texts", (_, answer) => answer.json({ texts: control.texts }));
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler, legacyCompat: { enabled: true } }));
  app.use("/rest", restHandler(shared));
  app.use("/", jsonRpcHandler(shared));
  console.log(`listening on ${port}`);
});
