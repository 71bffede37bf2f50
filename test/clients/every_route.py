"""Calls every route as a Python program does: with the standard library, and with the packages `openai`, `anthropic` and
`cohere` if they are installed (PORTICO_TEST_PYTHON names an interpreter that has them). Prints the packages that it used,
and fails with the first fault."""
import io, json, sys, urllib.request

url, key = sys.argv[1], sys.argv[2]
MESSAGES = [{"role": "user", "content": "Hi"}]


def check(what, got, expected):
    assert got == expected, f"{what}: {got!r} instead of {expected!r}"


def with_openai(openai):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
    chat = client.chat.completions
    check("chat", chat.create(model="main/m", messages=MESSAGES).choices[0].message.content, "Hello")
    stream = chat.create(model="main/m", messages=MESSAGES, stream=True)
    check("chat, streamed", "".join(part.choices[0].delta.content or "" for part in stream if part.choices), "Hello")
    check("responses", client.responses.create(model="main/m", input="Hi").output_text, "Hello")
    with client.responses.stream(model="main/m", input="Hi") as events:
        check("responses, streamed", events.get_final_response().output_text, "Hello")
    check("completions", client.completions.create(model="main/m", prompt="Hi").choices[0].text, "Hello")
    stream = client.completions.create(model="main/m", prompt="Hi", stream=True)
    check("completions, streamed", "".join(part.choices[0].text for part in stream), "Hello")
    check("embeddings", client.embeddings.create(model="main/m", input="Hi").data[0].embedding, [0.5, -1.0])
    check("models", "main/m" in [model.id for model in client.models.list()], True)
    check("one model", client.models.retrieve("main/m").id, "main/m")
    check("images", client.images.generate(model="main/m", prompt="x").data[0].b64_json, "AAEC")
    image = ("a.png", b"picture", "image/png")
    check("images, edited", client.images.edit(model="main/m", prompt="x", image=image).data[0].b64_json, "AAEC")
    check("speech", client.audio.speech.create(model="main/m", voice="v", input="x").read(), b"\x00\x01sound")
    sound = ("a.mp3", io.BytesIO(b"sound"), "audio/mpeg")
    check("transcriptions", client.audio.transcriptions.create(model="main/m", file=sound).text, "5 bytes")
    sound = ("a.mp3", io.BytesIO(b"sound"), "audio/mpeg")
    check("translations", client.audio.translations.create(model="main/m", file=sound).text, "5 bytes")
    check("moderations", client.moderations.create(model="main/m", input="x").results[0].flagged, True)
    try:
        chat.create(model="main-m", messages=MESSAGES)
        raise AssertionError("an unknown model was answered")
    except openai.NotFoundError as error:
        check("an unknown model", error.code, "model_not_found")


def with_cohere(cohere):
    for kind in (cohere.Client, cohere.ClientV2):
        client = kind(base_url=url, api_key=key)
        ranked = client.rerank(model="main/m", query="q", documents=["a", "b"], top_n=1)
        check("rerank", [(one.index, one.relevance_score) for one in ranked.results], [(1, 0.9)])


def with_anthropic(anthropic):
    client = anthropic.Anthropic(base_url=url, api_key=key, max_retries=0)
    ask = {"model": "main/m", "max_tokens": 9, "messages": MESSAGES}
    check("messages", client.messages.create(**ask).content[0].text, "Hello")
    with client.messages.stream(**ask) as stream:
        check("messages, streamed", "".join(stream.text_stream), "Hello")
    counted = client.messages.count_tokens(model="main/m", messages=MESSAGES)
    check("tokens, counted", counted.input_tokens > 0, True)
    try:
        client.messages.create(**{**ask, "model": "main-m"})
        raise AssertionError("an unknown model was answered")
    except anthropic.NotFoundError as error:
        check("an unknown model", error.body["error"]["type"], "not_found_error")


def send(path, body, kind="application/json", read=json.load):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {key}", "content-type": kind}
    with urllib.request.urlopen(urllib.request.Request(f"{url}{path}", data, headers)) as response:
        return read(response)


def upload(path, field):
    parts = [f'--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nmain/m\r\n']
    parts.append(f'--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\nx\r\n')
    parts.append(f'--b\r\ncontent-disposition: form-data; name="{field}"; filename="a"\r\n\r\nsound\r\n--b--\r\n')
    return send(path, "".join(parts).encode(), "multipart/form-data; boundary=b")


def with_library():
    ask = {"model": "main/m", "messages": MESSAGES}
    check("chat", send("/v1/chat/completions", ask)["choices"][0]["message"]["content"], "Hello")
    lines = send("/v1/chat/completions", {**ask, "stream": True}, read=lambda response: response.read().decode())
    check("chat, streamed", lines.endswith("data: [DONE]\n\n"), True)
    check("messages", send("/v1/messages", {**ask, "max_tokens": 9})["content"][0]["text"], "Hello")
    output = send("/v1/responses", {"model": "main/m", "input": "Hi"})["output"]
    check("responses", output[0]["content"][0]["text"], "Hello")
    check("completions", send("/v1/completions", {"model": "main/m", "prompt": "Hi"})["choices"][0]["text"], "Hello")
    check("embeddings", send("/v1/embeddings", {"model": "main/m", "input": "Hi"})["data"][0]["embedding"], [0.5, -1.0])
    check("images", send("/v1/images/generations", {"model": "main/m", "prompt": "x"})["data"][0]["b64_json"], "AAEC")
    check("images, edited", upload("/v1/images/edits", "image")["data"][0]["b64_json"], "AAEC")
    speech = {"model": "main/m", "voice": "v", "input": "x"}
    check("speech", send("/v1/audio/speech", speech, read=lambda response: response.read()), b"\x00\x01sound")
    check("transcriptions", upload("/v1/audio/transcriptions", "file")["text"], "5 bytes")
    check("translations", upload("/v1/audio/translations", "file")["text"], "5 bytes")
    check("moderations", send("/v1/moderations", {"model": "main/m", "input": "x"})["results"][0]["flagged"], True)
    documents = {"model": "main/m", "query": "q", "documents": ["a", "b"], "top_n": 1}
    check("rerank", send("/v1/rerank", documents)["results"], [{"index": 1, "relevance_score": 0.9}])


with_library()
used = ["urllib"]
for name, run in (("openai", with_openai), ("anthropic", with_anthropic), ("cohere", with_cohere)):
    try:
        package = __import__(name)
    except ImportError:
        continue
    run(package)
    used.append(name)
print(" ".join(used))
