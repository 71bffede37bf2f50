"""Runs checks one by one and reports them. `package-task.ts` parses the report."""
import asyncio
import inspect
import os
import traceback

URL = os.environ["PORTICO_URL"]
TOKEN = os.environ["PORTICO_TOKEN"]
MODEL = os.environ["PORTICO_MODEL"]
WAY_IN = os.environ["PORTICO_WAY_IN"]
UNKNOWN_MODEL = "up/no-such-model"
# The upstream's usage in every answer.
PROMPT_TOKENS, CACHED_TOKENS, COMPLETION_TOKENS = 20, 5, 7
CITY_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def equal(got, expected):
    assert got == expected, f"{got!r} instead of {expected!r}"


def run(*checks):
    # All checks share one loop, because clients keep connections that belong to it.
    loop = asyncio.new_event_loop()
    for check in checks:
        name = check.__name__.replace("_", " ")
        try:
            if inspect.iscoroutinefunction(check):
                loop.run_until_complete(check())
            else:
                check()
            print(f"ok: {name}", flush=True)
        except BaseException:
            print(f"FAULT: {name}: {traceback.format_exc()}", flush=True)
    print("done", flush=True)


def raised(request):
    """Returns the error that a request raises."""
    try:
        request()
    except Exception as error:
        return error
    raise AssertionError("The request raised no error.")


async def raised_async(request):
    try:
        await request()
    except Exception as error:
        return error
    raise AssertionError("The request raised no error.")
