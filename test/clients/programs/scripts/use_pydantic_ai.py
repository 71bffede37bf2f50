"""Pydantic AI: an agent whose model calls a tool twice at once."""
import anthropic
import openai
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from support import *

if WAY_IN == "/v1/messages":
    anthropic_client = anthropic.AsyncAnthropic(base_url=URL, api_key=TOKEN, max_retries=0)
    provider, Model = AnthropicProvider(anthropic_client=anthropic_client), AnthropicModel
else:
    openai_client = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=TOKEN, max_retries=0)
    provider = OpenAIProvider(openai_client=openai_client)
    Model = OpenAIResponsesModel if WAY_IN == "/v1/responses" else OpenAIChatModel


def agent(model=MODEL):
    weather_agent = Agent(Model(model, provider=provider), system_prompt="Be brief.")

    @weather_agent.tool_plain
    def get_weather(city: str) -> str:
        """The weather"""
        return f"sunny in {city}"

    return weather_agent


def check_usage(usage):
    equal((usage.requests, usage.input_tokens, usage.output_tokens),
          (2, 2 * PROMPT_TOKENS, 2 * COMPLETION_TOKENS))


async def two_calls_whole():
    result = await agent().run("The weather?")
    equal(result.output, "sunny in Rome and sunny in Oslo")
    check_usage(result.usage() if callable(result.usage) else result.usage)


async def two_calls_streamed():
    async with agent().run_stream("The weather?") as result:
        text = "".join([part async for part in result.stream_text(delta=True)])
    equal(text, "sunny in Rome and sunny in Oslo")
    check_usage(result.usage() if callable(result.usage) else result.usage)


async def expect_status(model, text, status):
    error = await raised_async(lambda: agent(model).run(text))
    assert isinstance(error, ModelHTTPError), repr(error)
    equal(error.status_code, status)


async def unknown_model():
    await expect_status(UNKNOWN_MODEL, "hi", 404)


async def context_length():
    await expect_status(MODEL, "context length", 400)


async def rate_limit():
    await expect_status(MODEL, "rate limit", 429)


run(two_calls_whole, two_calls_streamed, unknown_model, context_length, rate_limit)
