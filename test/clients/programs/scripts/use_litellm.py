"""LiteLLM's package as a client: as OpenAI, and as Anthropic."""
import json
import litellm
from support import *

BY_MESSAGES = WAY_IN == "/v1/messages"
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "The weather", "parameters": CITY_SCHEMA}}]


def ask(messages, model=MODEL, **more):
    name, base = (f"anthropic/{model}", URL) if BY_MESSAGES else (f"openai/{model}", f"{URL}/v1")
    return litellm.completion(model=name, api_base=base, api_key=TOKEN, messages=messages, num_retries=0,
                              max_retries=0, **more)


def question(text):
    return [{"role": "user", "content": text}]


def check_usage(usage):
    equal((usage.prompt_tokens, usage.completion_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))


def whole():
    answer = ask(question("Say hello"))
    equal(answer.choices[0].message.content, "Hello")
    check_usage(answer.usage)


def streamed():
    chunks = list(ask(question("Say hello"), stream=True, stream_options={"include_usage": True}))
    answer = litellm.stream_chunk_builder(chunks)
    equal(answer.choices[0].message.content, "Hello")
    check_usage(answer.usage)


def call_twice(**more):
    messages = question("The weather?")
    answer = ask(messages, tools=TOOLS, **more)
    if more:
        answer = litellm.stream_chunk_builder(list(answer))
    message = answer.choices[0].message
    equal([json.loads(call.function.arguments) for call in message.tool_calls], [{"city": "Rome"}, {"city": "Oslo"}])
    results = [{"role": "tool", "tool_call_id": call.id, "content": f"sunny in {json.loads(call.function.arguments)['city']}"}
               for call in message.tool_calls]
    done = ask([*messages, message.model_dump(), *results], tools=TOOLS)
    equal(done.choices[0].message.content, "sunny in Rome and sunny in Oslo")


def two_calls_whole():
    call_twice()


def two_calls_streamed():
    call_twice(stream=True)


def unknown_model():
    equal(type(raised(lambda: ask(question("hi"), model=UNKNOWN_MODEL))), litellm.NotFoundError)


def context_length():
    equal(type(raised(lambda: ask(question("context length")))), litellm.ContextWindowExceededError)


def rate_limit():
    equal(type(raised(lambda: ask(question("rate limit")))), litellm.RateLimitError)


run(whole, streamed, two_calls_whole, two_calls_streamed, unknown_model, context_length, rate_limit)
