"""The package `openai-agents`: an agent whose model calls a tool twice at once."""
import openai
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from support import *

set_tracing_disabled(True)
client = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=TOKEN, max_retries=0)
Model = OpenAIChatCompletionsModel if WAY_IN == "/v1/chat/completions" else OpenAIResponsesModel


@function_tool
def get_weather(city: str) -> str:
    """The weather"""
    return f"sunny in {city}"


def agent(model=MODEL):
    served = Model(model=model, openai_client=client)
    return Agent(name="weather", instructions="Be brief.", model=served, tools=[get_weather],
                 model_settings=ModelSettings(include_usage=True))


def check(result):
    equal(result.final_output, "sunny in Rome and sunny in Oslo")
    usage = result.context_wrapper.usage
    equal((usage.requests, usage.input_tokens, usage.output_tokens),
          (2, 2 * PROMPT_TOKENS, 2 * COMPLETION_TOKENS))


async def two_calls_whole():
    check(await Runner.run(agent(), "The weather?"))


async def two_calls_streamed():
    result = Runner.run_streamed(agent(), "The weather?")
    text = ""
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            text += event.data.delta
    equal(text, "sunny in Rome and sunny in Oslo")
    check(result)


async def unknown_model():
    error = await raised_async(lambda: Runner.run(agent(UNKNOWN_MODEL), "hi"))
    equal(type(error), openai.NotFoundError)


async def context_length():
    error = await raised_async(lambda: Runner.run(agent(), "context length"))
    equal((type(error), error.code), (openai.BadRequestError, "context_length_exceeded"))


async def rate_limit():
    error = await raised_async(lambda: Runner.run(agent(), "rate limit"))
    equal(type(error), openai.RateLimitError)


run(two_calls_whole, two_calls_streamed, unknown_model, context_length, rate_limit)
