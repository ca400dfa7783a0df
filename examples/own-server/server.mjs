// The same server in Node, without libraries: JSON-RPC, one message per line, on standard input and output.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const root = process.argv[2];
const tool = {
  name: "search",
  description: "Searches all files for the words of the query; returns file, line number and line.",
  inputSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
};

function search(query) {
  const words = query.toLowerCase().match(/\w+/g) ?? [];
  const found = [];
  for (const name of readdirSync(root, { recursive: true }).filter((each) => each.endsWith(".py")).sort()) {
    readFileSync(join(root, name), "utf8").split("\n").forEach((line, number) => {
      if (words.some((word) => line.toLowerCase().includes(word))) found.push(`${name}:${number + 1}: ${line}`);
    });
  }
  return found.join("\n") || "nothing found";
}

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "search", version: "1" },
  }),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": ({ arguments: given }) => ({ content: [{ type: "text", text: search(given.query) }] }),
  ping: () => ({}),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue; // a notification
  const answer = answers[method];
  const reply = answer ? { result: answer(params ?? {}) } : { error: { code: -32601, message: `no ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...reply })}\n`);
}
