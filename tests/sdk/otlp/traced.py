"""A program that asks models with other people's clients, traced by other people's instrumentation, and sends the spans
by OpenTelemetry's exporter. Arguments: the instrumentation, the client, the address of the models. Without pytest.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

source, asks, url = sys.argv[1:4]
provider = TracerProvider(resource=Resource({"service.name": "clerk"}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)

MODULES = {
    "genai": "opentelemetry.instrumentation.genai.{}", "genai-v2": "opentelemetry.instrumentation.{}_v2",
    "openinference": "openinference.instrumentation.{}",
}  # fmt: skip
OPENLLMETRY = "opentelemetry.instrumentation.{}"
CLASSES = {"anthropic": "AnthropicInstrumentor", "openai": "OpenAIInstrumentor", "responses": "OpenAIInstrumentor"}
PARAMETERS = {"type": "object", "properties": {}}
TOOL = {"name": "find", "description": "Finds", "input_schema": PARAMETERS}
FUNCTION = {"type": "function", "name": "find", "parameters": PARAMETERS, "strict": False}
CALLED = {"type": "function", "function": {"name": "find", "parameters": PARAMETERS}}
ASKED = [{"role": "user", "content": "Where is 4711?"}]


def anthropic():
    from anthropic import Anthropic

    client, asked = Anthropic(base_url=url, api_key="sk"), {"model": "claude-sonnet-4-5", "max_tokens": 99}
    content = client.messages.create(messages=ASKED, tools=[TOOL], **asked).content
    called = {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in content]}
    result = [{"type": "tool_result", "tool_use_id": content[0].id, "content": "sent"}]
    said = [*ASKED, called, {"role": "user", "content": result}]
    print(client.messages.create(messages=said, tools=[TOOL], **asked).content[0].text)


def openai():
    create = client_of_openai().chat.completions.create
    called = create(model="gpt-5", messages=ASKED, tools=[CALLED]).choices[0].message
    result = {"role": "tool", "tool_call_id": called.tool_calls[0].id, "content": "sent"}
    said = [*ASKED, called.model_dump(exclude_none=True), result]
    print(create(model="gpt-5", messages=said, tools=[CALLED]).choices[0].message.content)


def responses():
    create = client_of_openai().responses.create
    output = create(model="gpt-5", input="Where is 4711?", tools=[FUNCTION]).output
    result = {"type": "function_call_output", "call_id": output[0].call_id, "output": "sent"}
    said = [*ASKED, *[item.model_dump() for item in output], result]
    print(create(model="gpt-5", input=said, tools=[FUNCTION]).output_text)


def client_of_openai():
    module = importlib.import_module("langfuse.openai" if source == "langfuse" else "openai")
    return module.OpenAI(base_url=f"{url}/v1", api_key="sk")


@contextmanager
def conversation():
    """The spans of all that runs in it name the conversation, in the way of their instrumentation."""
    if source == "langfuse":
        from langfuse import Langfuse, propagate_attributes

        langfuse = Langfuse(public_key="pk", secret_key="sk", base_url=url, tracer_provider=provider)
        with (
            langfuse.start_as_current_observation(as_type="agent", name="clerk"),
            propagate_attributes(session_id=asks, user_id="ada"),
        ):
            yield
        return
    vendor = "anthropic" if asks == "anthropic" else "openai"
    module = importlib.import_module(MODULES.get(source, OPENLLMETRY).format(vendor))
    getattr(module, CLASSES[asks])().instrument(tracer_provider=provider)
    if source == "openinference":
        from openinference.instrumentation import using_attributes

        with using_attributes(session_id=asks, user_id="ada"):
            yield
        return
    with trace.get_tracer("clerk").start_as_current_span("invoke_agent clerk") as span:
        span.set_attributes({
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk", "gen_ai.conversation.id": asks,
            "user.id": "ada",
        })  # fmt: skip
        yield


with conversation():
    {"anthropic": anthropic, "openai": openai, "responses": responses}[asks]()
provider.shutdown()
