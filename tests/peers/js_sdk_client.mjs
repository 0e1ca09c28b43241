// A caller made with the official SDK for JavaScript (@a2a-js/sdk 1.3.0), beside the one for Python (sdk_client.py).
//
// Run by the peer's own Node.js: node js_sdk_client.mjs --modules .peers/javascript --url http://127.0.0.1:8080
// --interface JSONRPC/1.0 --key KEY. It does what sdk_client.py does, and prints what came of it as one line of JSON.

import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    modules: { type: "string" },
    url: { type: "string" },
    interface: { type: "string" },
    key: { type: "string" },
  },
});
const installed = createRequire(join(resolve(options.modules), "package.json"));
const { ListTasksRequest, SendMessageRequest, TaskPushNotificationConfig, TaskState } = installed("@a2a-js/sdk");
const { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } =
  installed("@a2a-js/sdk/client");

const [binding, version] = options.interface.split("/");

function fetchImpl(url, init = {}) {
  const headers = new Headers(init.headers);
  headers.set("X-API-Key", options.key);
  return fetch(url, { ...init, headers });
}

async function connected() {
  const shared = { fetchImpl, legacyCompat: { enabled: true } };
  const cardResolver = new DefaultAgentCardResolver(shared);
  const card = await cardResolver.resolve(options.url);
  const offered = card.supportedInterfaces;
  const chosen = offered.filter((each) => each.protocolBinding === binding && each.protocolVersion === version);
  const transports = [new JsonRpcTransportFactory(shared), new RestTransportFactory(shared)];
  const factory = new ClientFactory({ transports, cardResolver });
  const client = await factory.createFromAgentCard({ ...card, supportedInterfaces: chosen });
  return { client, name: card.name, interfaces: offered.length };
}

function request(text, task) {
  const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] };
  const about = task ? { taskId: task.id, contextId: task.contextId } : {};
  return SendMessageRequest.fromJSON({ message: { ...message, ...about } });
}

const said = (parts) => parts.map((part) => part.content.value).join("");
const words = (task) => task.artifacts.map((made) => said(made.parts)).join("");
const state = (task) => TaskState[task.status.state];

async function heard(stream) {
  const events = [];
  for await (const event of stream) events.push(event.payload);
  return events;
}

function chunks(events) {
  const updates = events.filter((event) => event.$case === "artifactUpdate");
  return updates.map((event) => said(event.value.artifact.parts)).join("");
}

async function failure(call) {
  try {
    await call;
  } catch (error) {
    return error.constructor.name;
  }
  return "";
}

async function questions(client) {
  const asked = (await heard(client.sendMessageStream(request("ask"))))[0].value;
  const read = await client.getTask({ tenant: "", id: asked.id });
  const answered = await heard(client.sendMessageStream(request("Tuesday", asked)));
  return {
    asked: state(read),
    question: said(read.status.message.parts),
    answered: chunks(answered) || words(answered[0].value),
    ended: await failure(client.sendMessage(request("more", asked))),
  };
}

async function pushes(client, taskId) {
  const authentication = { scheme: "Bearer", credentials: "secret" };
  const set = { taskId, id: "p1", url: "https://example.com/hook", token: "t", authentication };
  await client.createTaskPushNotificationConfig(TaskPushNotificationConfig.fromJSON(set));
  const read = await client.getTaskPushNotificationConfig({ tenant: "", taskId, id: "p1" });
  return { push: [read.url, read.token, read.authentication.credentials] };
}

async function held(client) {
  const stream = client.sendMessageStream(request("hold"));
  const task = (await stream.next()).value.payload.value;
  await stream.return();
  const subscription = client.resubscribeTask({ tenant: "", id: task.id });
  const first = (await subscription.next()).value.payload.value;
  await subscription.return();
  const pushed = await pushes(client, task.id);
  const canceled = await client.cancelTask({ tenant: "", id: task.id });
  const again = await failure(client.cancelTask({ tenant: "", id: task.id }));
  return { subscribed: (first.id ?? first.taskId) === task.id, canceled: state(canceled), again, ...pushed };
}

async function lists(client) {
  const page = await client.listTasks(ListTasksRequest.fromJSON({ pageSize: 2 }));
  return { listed: page.tasks.length, more: page.totalSize > 2, next: page.nextPageToken !== "" };
}

const { client, name, interfaces } = await connected();
console.log(
  JSON.stringify({
    name,
    interfaces,
    sent: words(await client.sendMessage(request("echo hello"))),
    streamed: chunks(await heard(client.sendMessageStream(request("many 3")))),
    bare: said((await client.sendMessage(request("bare"))).parts),
    ...(await questions(client)),
    ...(await held(client)),
    ...(version === "1.0" ? await lists(client) : {}),
    unknown: await failure(client.getTask({ tenant: "", id: "nobody" })),
  }),
);
