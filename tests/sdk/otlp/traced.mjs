// A program on the AI SDK of Vercel, traced by its own telemetry. Arguments: the address of the models, the class of the telemetry.
import { createAnthropic } from "@ai-sdk/anthropic";
import * as telemetry from "@ai-sdk/otel";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { generateText, registerTelemetry, stepCountIs, tool } from "ai";
import { z } from "zod";

const [url, name] = process.argv.slice(2);
const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();
registerTelemetry(new telemetry[name]());
const find = tool({ description: "Finds", inputSchema: z.object({ order: z.string() }), execute: async () => "sent" });
const { text } = await generateText({
  model: createAnthropic({ baseURL: `${url}/v1`, apiKey: "sk" })("claude-sonnet-4-5"),
  prompt: "Where is 4711?",
  tools: { find },
  stopWhen: stepCountIs(3),
  telemetry: { isEnabled: true, functionId: "clerk" },
});
console.log(text);
await provider.shutdown();
