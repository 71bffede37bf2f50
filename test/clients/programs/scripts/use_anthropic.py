"""The package `anthropic`, with its tool runner."""
import anthropic
from support import *

client = anthropic.Anthropic(base_url=URL, api_key=TOKEN, max_retries=0)
TOOL = {"name": "get_weather", "description": "The weather", "input_schema": CITY_SCHEMA}


def asking(text, **more):
    return {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": text}], **more}


def check_usage(usage):
    prompt = usage.input_tokens + (usage.cache_read_input_tokens or 0)
    equal((prompt, usage.cache_read_input_tokens), (PROMPT_TOKENS, CACHED_TOKENS))
    equal(usage.output_tokens, COMPLETION_TOKENS)


def whole():
    message = client.messages.create(**asking("Say hello"))
    equal((message.content[0].text, message.stop_reason, message.model), ("Hello", "end_turn", MODEL))
    check_usage(message.usage)


def streamed():
    with client.messages.stream(**asking("Say hello")) as stream:
        equal("".join(stream.text_stream), "Hello")
        message = stream.get_final_message()
    equal(message.model, MODEL)
    check_usage(message.usage)


def two_calls():
    for streams in (False, True):
        request = asking("The weather?", tools=[TOOL])
        if streams:
            with client.messages.stream(**request) as stream:
                message = stream.get_final_message()
        else:
            message = client.messages.create(**request)
        uses = [block for block in message.content if block.type == "tool_use"]
        equal([use.input for use in uses], [{"city": "Rome"}, {"city": "Oslo"}])
        results = [{"type": "tool_result", "tool_use_id": use.id, "content": f"sunny in {use.input['city']}"}
                   for use in uses]
        request["messages"] += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
        equal(client.messages.create(**request).content[0].text, "sunny in Rome and sunny in Oslo")


def tool_runner():
    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """The weather

        Args:
            city: The name of the city
        """
        return f"sunny in {city}"

    for stream in (False, True):
        runner = client.beta.messages.tool_runner(tools=[get_weather], stream=stream, **asking("The weather?"))
        equal(runner.until_done().content[0].text, "sunny in Rome and sunny in Oslo")


def count_tokens():
    request = asking("Say hello")
    del request["max_tokens"]
    assert client.messages.count_tokens(**request).input_tokens > 0


def refusal_of(request):
    for stream in (False, True):
        yield raised(lambda: client.messages.create(**request, stream=stream))


def unknown_model():
    for error in refusal_of({**asking("hi"), "model": UNKNOWN_MODEL}):
        equal((type(error), error.body["error"]["type"]), (anthropic.NotFoundError, "not_found_error"))


def context_length():
    for error in refusal_of(asking("context length")):
        equal(type(error), anthropic.BadRequestError)
        assert error.body["error"]["message"].startswith("prompt is too long: "), error


def rate_limit():
    for error in refusal_of(asking("rate limit")):
        equal((type(error), error.body["error"]["type"]), (anthropic.RateLimitError, "rate_limit_error"))
        equal(error.response.headers.get("x-should-retry"), None)


def models():
    assert "echo" in [model.id for model in client.models.list()]
    equal(client.models.retrieve(MODEL).type, "model")


run(whole, streamed, two_calls, tool_runner, count_tokens, unknown_model, context_length, rate_limit, models)
