"""The package `openai`, by chat completions or by the Responses API."""
import openai
from support import *

client = openai.OpenAI(base_url=f"{URL}/v1", api_key=TOKEN, max_retries=0)
FUNCTION = {"name": "get_weather", "description": "The weather", "parameters": CITY_SCHEMA}
BY_CHAT = WAY_IN == "/v1/chat/completions"


def chat(text, **more):
    request = {"model": MODEL, "messages": [{"role": "user", "content": text}], **more}
    return client.chat.completions.create(**request)


def respond(text, **more):
    return client.responses.create(**{"model": MODEL, "input": text, **more})


ask = chat if BY_CHAT else respond


def chat_whole():
    answer = chat("Say hello")
    equal((answer.choices[0].message.content, answer.choices[0].finish_reason), ("Hello", "stop"))
    usage = answer.usage
    equal((usage.prompt_tokens, usage.completion_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))
    equal(usage.prompt_tokens_details.cached_tokens, CACHED_TOKENS)


def chat_streamed():
    chunks = list(chat("Say hello", stream=True, stream_options={"include_usage": True}))
    equal("".join(part.choices[0].delta.content or "" for part in chunks if part.choices), "Hello")
    usage = chunks[-1].usage
    equal((usage.prompt_tokens, usage.completion_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))


def chat_tools(whole):
    tools = [{"type": "function", "function": FUNCTION}]
    messages = [{"role": "user", "content": "The weather?"}]
    request = {"model": MODEL, "messages": messages, "tools": tools}
    if whole:
        message = client.chat.completions.create(**request).choices[0].message
    else:
        with client.chat.completions.stream(**request) as stream:
            message = stream.get_final_completion().choices[0].message
    equal([call.function.arguments.replace(" ", "") for call in message.tool_calls],
          ['{"city":"Rome"}', '{"city":"Oslo"}'])
    equal(len({call.id for call in message.tool_calls}), 2)
    results = [{"role": "tool", "tool_call_id": call.id, "content": f"sunny in {city}"}
               for call, city in zip(message.tool_calls, ["Rome", "Oslo"])]
    history = [*messages, message.model_dump(exclude_none=True, exclude={"tool_calls": {"__all__": {"function": {"parsed_arguments"}}}}), *results]
    if not whole:
        history[1].pop("parsed", None)
    done = client.chat.completions.create(**{**request, "messages": history})
    equal(done.choices[0].message.content, "sunny in Rome and sunny in Oslo")


def responses_whole():
    answer = respond("Say hello")
    equal((answer.output_text, answer.status), ("Hello", "completed"))
    usage = answer.usage
    equal((usage.input_tokens, usage.output_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))
    equal(usage.input_tokens_details.cached_tokens, CACHED_TOKENS)


def responses_streamed():
    with client.responses.stream(model=MODEL, input="Say hello") as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        answer = stream.get_final_response()
    equal((text, answer.output_text), ("Hello", "Hello"))
    equal((answer.usage.input_tokens, answer.usage.output_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))


def responses_tools(whole, stored):
    tools = [{"type": "function", "strict": False, **FUNCTION}]
    question = [{"role": "user", "content": "The weather?"}]
    request = {"model": MODEL, "tools": tools, "store": stored}
    if whole:
        answer = client.responses.create(**request, input=question)
    else:
        with client.responses.stream(**request, input=question) as stream:
            answer = stream.get_final_response()
    calls = [item for item in answer.output if item.type == "function_call"]
    equal([call.arguments.replace(" ", "") for call in calls], ['{"city":"Rome"}', '{"city":"Oslo"}'])
    results = [{"type": "function_call_output", "call_id": call.call_id, "output": f"sunny in {city}"}
               for call, city in zip(calls, ["Rome", "Oslo"])]
    if stored:
        done = client.responses.create(**request, input=results, previous_response_id=answer.id)
    else:
        own = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in answer.output]
        done = client.responses.create(**request, input=[*question, *own, *results])
    equal(done.output_text, "sunny in Rome and sunny in Oslo")


def whole():
    chat_whole() if BY_CHAT else responses_whole()


def streamed():
    chat_streamed() if BY_CHAT else responses_streamed()


def two_calls_whole():
    if BY_CHAT:
        return chat_tools(whole=True)
    responses_tools(whole=True, stored=True)
    responses_tools(whole=True, stored=False)


def two_calls_streamed():
    chat_tools(whole=False) if BY_CHAT else responses_tools(whole=False, stored=False)


def unknown_model():
    for stream in (False, True):
        error = raised(lambda: ask("hi", model=UNKNOWN_MODEL, stream=stream))
        equal(type(error), openai.NotFoundError)
        assert error.code, "no code"


def context_length():
    for stream in (False, True):
        error = raised(lambda: ask("context length", stream=stream))
        equal((type(error), error.code), (openai.BadRequestError, "context_length_exceeded"))


def rate_limit():
    for stream in (False, True):
        error = raised(lambda: ask("rate limit", stream=stream))
        equal(type(error), openai.RateLimitError)
        assert error.response.headers.get("retry-after"), "no Retry-After"
        equal(error.response.headers.get("x-should-retry"), None)


def models():
    assert "echo" in [model.id for model in client.models.list()]
    equal(client.models.retrieve(MODEL).id, MODEL)


run(whole, streamed, two_calls_whole, two_calls_streamed, unknown_model, context_length, rate_limit, models)
