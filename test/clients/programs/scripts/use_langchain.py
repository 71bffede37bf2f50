"""LangChain: `ChatOpenAI` by chat completions or the Responses API, and `ChatAnthropic`."""
import anthropic
import openai
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from support import *

BY_MESSAGES = WAY_IN == "/v1/messages"


def chat_model(model=MODEL):
    if BY_MESSAGES:
        return ChatAnthropic(model=model, base_url=URL, api_key=TOKEN, max_retries=0, max_tokens=100)
    return ChatOpenAI(model=model, base_url=f"{URL}/v1", api_key=TOKEN, max_retries=0, stream_usage=True,
                      use_responses_api=WAY_IN == "/v1/responses")


chat = chat_model()


@tool
def get_weather(city: str) -> str:
    """The weather"""
    return f"sunny in {city}"


def check_usage(usage):
    equal((usage["input_tokens"], usage["output_tokens"]), (PROMPT_TOKENS, COMPLETION_TOKENS))
    equal(usage["input_token_details"]["cache_read"], CACHED_TOKENS)


def joined(chunks):
    total = next(chunks)
    for chunk in chunks:
        total += chunk
    return total


def whole():
    message = chat.invoke("Say hello")
    equal(message.text, "Hello")
    check_usage(message.usage_metadata)


def streamed():
    message = joined(chat.stream("Say hello"))
    equal(message.text, "Hello")
    check_usage(message.usage_metadata)


def call_twice(answer):
    bound = chat.bind_tools([get_weather])
    question = HumanMessage("The weather?")
    message = answer(bound, [question])
    equal([call["args"] for call in message.tool_calls], [{"city": "Rome"}, {"city": "Oslo"}])
    results = [ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"]) for call in message.tool_calls]
    equal(answer(bound, [question, message, *results]).text, "sunny in Rome and sunny in Oslo")


def two_calls_whole():
    call_twice(lambda bound, messages: bound.invoke(messages))


def two_calls_streamed():
    call_twice(lambda bound, messages: joined(bound.stream(messages)))


def refusals(model, text):
    yield raised(lambda: model.invoke(text))
    yield raised(lambda: list(model.stream(text)))


def unknown_model():
    for error in refusals(chat_model(UNKNOWN_MODEL), "hi"):
        assert isinstance(error, anthropic.NotFoundError if BY_MESSAGES else openai.NotFoundError), error


def context_length():
    for error in refusals(chat, "context length"):
        assert isinstance(error, anthropic.BadRequestError if BY_MESSAGES else openai.BadRequestError), error
        if not BY_MESSAGES:
            equal(error.code, "context_length_exceeded")


def rate_limit():
    for error in refusals(chat, "rate limit"):
        assert isinstance(error, anthropic.RateLimitError if BY_MESSAGES else openai.RateLimitError), error


run(whole, streamed, two_calls_whole, two_calls_streamed, unknown_model, context_length, rate_limit)
