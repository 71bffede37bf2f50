"""LlamaIndex: an agent whose model calls a tool twice at once."""
import openai
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike
from support import *


def language_model(model=MODEL):
    return OpenAILike(model=model, api_base=f"{URL}/v1", api_key=TOKEN, max_retries=0,
                      is_chat_model=True, is_function_calling_model=True)


def question(text):
    return [ChatMessage(role="user", content=text)]


def whole():
    answer = language_model().chat(question("Say hello"))
    equal(answer.message.content, "Hello")
    usage = answer.raw.usage
    equal((usage.prompt_tokens, usage.completion_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))


def streamed():
    text = "".join(part.delta or "" for part in language_model().stream_chat(question("Say hello")))
    equal(text, "Hello")


async def two_calls_streamed():
    def get_weather(city: str) -> str:
        """The weather"""
        return f"sunny in {city}"

    agent = FunctionAgent(tools=[get_weather], llm=language_model(), system_prompt="Be brief.")
    equal(str(await agent.run("The weather?")), "sunny in Rome and sunny in Oslo")


def unknown_model():
    equal(type(raised(lambda: language_model(UNKNOWN_MODEL).chat(question("hi")))), openai.NotFoundError)


def context_length():
    error = raised(lambda: language_model().chat(question("context length")))
    equal((type(error), error.code), (openai.BadRequestError, "context_length_exceeded"))


def rate_limit():
    equal(type(raised(lambda: language_model().chat(question("rate limit")))), openai.RateLimitError)


run(whole, streamed, two_calls_streamed, unknown_model, context_length, rate_limit)
