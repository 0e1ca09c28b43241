// An echo agent made with the official JavaScript SDK (@a2a-js/sdk 1.3.0) on express, tasks in memory.
// `node js_server.mjs PORT CHUNKS`: a text that begins with `fd:stream` comes back in CHUNKS chunks, any other whole.
import express from "express";
import { DefaultRequestHandler, InMemoryTaskStore, AgentEvent } from "@a2a-js/sdk/server";
import { jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { TaskState } from "@a2a-js/sdk";

const port = Number(process.argv[2]);
const chunks = Number(process.argv[3] ?? 20);
const now = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() });
const artifactOf = (text) => ({
  artifactId: "answer",
  name: "",
  description: "",
  metadata: undefined,
  extensions: [],
  parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "text/plain" }],
});

class Echo {
  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context;
    const text = userMessage.parts[0].content.value;
    const of = { taskId, contextId, metadata: undefined };
    const status = (state) => bus.publish(AgentEvent.statusUpdate({ ...of, status: now(state) }));
    const count = text.startsWith("fd:stream") ? chunks : 1;
    const submitted = now(TaskState.TASK_STATE_SUBMITTED);
    const task = { id: taskId, contextId, status: submitted, artifacts: [], history: [userMessage], metadata: undefined };
    bus.publish(AgentEvent.task(task));
    status(TaskState.TASK_STATE_WORKING);
    for (let n = 0; n < count; n++) {
      const words = count === 1 ? text : `${n} ${text.slice(0, 60)} `;
      const flags = { append: n > 0, lastChunk: n === count - 1 };
      bus.publish(AgentEvent.artifactUpdate({ ...of, ...flags, artifact: artifactOf(words) }));
    }
    status(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  }

  async cancelTask() {}
}

const card = {
  name: "echo",
  description: "Says what it hears",
  version: "1",
  provider: undefined,
  documentationUrl: "",
  capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
  signatures: [],
  iconUrl: "",
  supportedInterfaces: [
    { url: `http://127.0.0.1:${port}/`, protocolBinding: "JSONRPC", tenant: "", protocolVersion: "1.0" },
  ],
};
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Echo());
const app = express();
app.use("/", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.listen(port, "127.0.0.1", 1024);
