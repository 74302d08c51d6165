"""The official Python client against the real server. Arguments: `stdio PROGRAM [ARGUMENT…]` or `http URL TOKEN`, after
`2026-07-28`, without sessions, or `2025-11-25`, with a handshake.

Ends with 0 if everything is as it should be. The same acts as in client.mjs.
"""

import asyncio
import base64
import os
import sys
from contextlib import asynccontextmanager

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

VERSION, KIND, *WHERE = sys.argv[1:]
MODE = "legacy" if VERSION == "2025-11-25" else "auto"


class Visitor:
    def __init__(self, client, tools):
        self.client, self.tools, self.sandbox_id = client, tools, None

    async def call(self, name, arguments=None, progress=None):
        result = await self.client.call_tool(name, arguments or {}, progress_callback=progress)
        assert result.content[0].type == "text", name
        assert result.structured_content is not None, name
        return result

    async def ok(self, name, arguments=None, progress=None):
        result = await self.call(name, arguments, progress)
        assert not result.is_error, f"{name}: {result.content[0].text}"
        return result.structured_content

    async def refused(self, code, name, arguments):
        result = await self.call(name, arguments)
        assert result.is_error, f"{name} should fail"
        error = result.structured_content["error"]
        assert error["code"] == code, error
        return error["message"]

    async def run(self, command, **more):
        return await self.ok("run_command", {"sandbox_id": self.sandbox_id, "command": command, **more})

    async def code(self, language, code, **more):
        arguments = {"sandbox_id": self.sandbox_id, "language": language, "code": code, **more}
        return await self.ok("execute_code", arguments)


@asynccontextmanager
async def connected():
    async with server() as server_:
        async with Client(server_, mode=MODE, read_timeout_seconds=120) as client:
            yield Visitor(client, (await client.list_tools()).tools)


@asynccontextmanager
async def server():
    if KIND == "stdio":
        yield StdioServerParameters(command=WHERE[0], args=WHERE[1:])
        return
    url, token = WHERE
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=120) as http:
        yield streamable_http_client(url, http_client=http)


async def tools(v):
    names = {tool.name for tool in v.tools}
    wanted = {
        "create_sandbox", "destroy_sandbox", "list_sandboxes", "execute_code", "run_command", "read_file", "write_file",
        "list_directory", "start_job", "poll_job", "signal_job",
    }
    assert wanted <= names, names
    assert ("create_file_link" in names) == (KIND == "http")
    for tool in v.tools:
        assert tool.input_schema["type"] == "object" and tool.input_schema["additionalProperties"] is False, tool
        assert tool.title and len(tool.description) > 20, tool
    assert v.client.protocol_version == VERSION, v.client.protocol_version


async def sandboxes(v):
    listed = (await v.ok("list_sandboxes"))["sandboxes"]
    assert [one["sandbox_id"] for one in listed] == [v.sandbox_id] and listed[0]["state"] == "ready", listed
    other = (await v.ok("create_sandbox", {"memory_mib": 256}))["sandbox_id"]
    await v.ok("destroy_sandbox", {"sandbox_id": other})
    await v.refused("not_found", "destroy_sandbox", {"sandbox_id": other})
    for wrong in [{"memory_mib": 1}, {"vcpu_count": 1000}, {"memory": 512}]:
        assert next(iter(wrong)) in await v.refused("invalid_argument", "create_sandbox", wrong)
    wrong = {"sandbox_id": v.sandbox_id, "language": "cobol", "code": ""}
    assert "python" in await v.refused("invalid_argument", "execute_code", wrong)


async def commands(v):
    ran = await v.run("echo out; echo err >&2; exit 42")
    assert (ran["stdout"], ran["stderr"], ran["exit_code"]) == ("out\n", "err\n", 42), ran
    assert (await v.run("no-such-program-at-all"))["exit_code"] == 127
    killed = await v.run("kill -9 $$")
    assert (killed["exit_code"], killed["signal"]) == (137, "SIGKILL"), killed
    assert (await v.run("cat; echo $WORD; pwd", stdin="in\n", env={"WORD": "😀"}, cwd="/tmp"))["stdout"] == "in\n😀\n/tmp\n"
    flood = await v.run("echo first; yes | head -c 3000000; echo last")
    assert flood["truncated"] and flood["exit_code"] == 0 and len(flood["stdout"]) <= 1024 * 1024 + 100, flood["exit_code"]
    assert flood["stdout"].startswith("first\n") and flood["stdout"].endswith("last\n")
    assert flood["omitted_bytes"] == 3_000_011 - 1024 * 1024, flood["omitted_bytes"]
    one, two = await asyncio.gather(v.run("sleep 0.2; echo one"), v.run("echo two"))
    assert (one["stdout"], two["stdout"]) == ("one\n", "two\n")


async def code(v):
    for language, source in [
        ("python", "print(6 * 7)"), ("javascript", "console.log(6 * 7)"), ("bash", "echo $((6 * 7))"),
        ("sh", "echo $((6 * 7))"), ("typescript", "enum A { B = 6 }\nconst n: number = A.B * 7;\nconsole.log(n)"),
    ]:
        ran = await v.code(language, source)
        assert (ran["stdout"], ran["exit_code"]) == ("42\n", 0), (language, ran)
    failed = await v.code("python", "raise ValueError('no')")
    assert failed["exit_code"] != 0 and "ValueError" in failed["stderr"], failed
    filler = ("# " + "x" * 98 + "\n") * 50_000
    assert len(filler) >= 5_000_000
    assert (await v.code("python", filler + "print('five megabytes')"))["stdout"] == "five megabytes\n"
    for shift in range(4):
        text = "a" * shift + "😀" * 50_000
        echoed = await v.code("python", "import sys\nsys.stdout.write(sys.stdin.read())", stdin=text)
        assert echoed["stdout"] == text, f"shifted by {shift}"
    several = await v.code("python", ["print(1)", "print(2)", "raise SystemExit(3)", "print(4)"])
    assert (several["stdout"], several["exit_code"], len(several["snippets"])) == ("1\n2\n", 3, 3), several
    await v.code("python", "kept = 41", session="notes")
    assert (await v.code("python", "print(kept + 1)", session="notes"))["stdout"] == "42\n"
    shown = """
class Table:
    def __repr__(self): return "a table"
    def _repr_html_(self): return "<table></table>"
    def _repr_png_(self): return b"\\x89PNG"
Table()"""
    arguments = {"sandbox_id": v.sandbox_id, "language": "python", "code": shown, "session": "notes"}
    result = await v.call("execute_code", arguments)
    text, image = result.content
    assert (text.text, image.type, image.mime_type) == ("a table\n", "image", "image/png"), result.content
    assert base64.b64decode(image.data) == b"\x89PNG"
    forms = result.structured_content["shown"]
    assert [(form["mime_type"], form.get("text")) for form in forms] == [
        ("text/html", "<table></table>"), ("image/png", None)
    ], forms
    assert "shown" not in await v.code("python", "kept", session="notes")
    slow = await v.code("python", "while True: pass", session="notes", timeout_ms=1000)
    assert slow["timed_out"] and "session_lost" not in slow, slow
    assert (await v.code("python", "kept", session="notes"))["stdout"] == "41\n"


async def files(v):
    here = {"sandbox_id": v.sandbox_id}
    content = base64.b64encode(os.urandom(1_000_000)).decode()
    await v.ok("write_file", {**here, "path": "deep/blob", "content": content, "encoding": "base64"})
    assert (await v.ok("read_file", {**here, "path": "/work/deep/blob", "encoding": "base64"}))["content"] == content
    assert "base64" in await v.refused("invalid_argument", "read_file", {**here, "path": "deep/blob"})
    text = "zeile\r\n\0 😀" * 800_000
    assert len(text.encode()) > 10_000_000
    await v.ok("write_file", {**here, "path": "text", "content": text})
    assert (await v.ok("read_file", {**here, "path": "text"}))["content"] == text
    listed = await v.ok("list_directory", {**here, "path": "/work/deep"})
    assert [entry["name"] for entry in listed["entries"]] == ["blob"], listed
    uri = f"sandbox://{v.sandbox_id}/work/deep/blob"
    assert (await v.client.read_resource(uri)).contents[0].blob == content
    assert any(one.name == "text" for one in (await v.client.list_resources()).resources)
    try:
        await v.client.read_resource(f"sandbox://{v.sandbox_id}/work/none")
    except MCPError:
        pass
    else:
        raise AssertionError("there is no such file")


async def time(v):
    slow = await v.run("echo begun; sleep 60; echo late", timeout_ms=3000)
    assert slow["timed_out"] and slow["stdout"] == "begun\n", slow
    assert (await v.run("echo mine"))["stdout"] == "mine\n"
    heard, answers = [], []

    # It goes on when it was heard.
    async def progress(_progress, _total, message):
        heard.append(message)
        arguments = {"sandbox_id": v.sandbox_id, "path": f"heard-{message.strip()}", "content": ""}
        answers.append(asyncio.create_task(v.call("write_file", arguments)))

    wait = "while [ ! -e heard-{} ]; do sleep 0.01; done"
    command = f"echo one; {wait.format('one')}; echo two; {wait.format('two')}; echo three"
    arguments = {"sandbox_id": v.sandbox_id, "command": command}
    assert (await v.ok("run_command", arguments, progress))["stdout"] == "one\ntwo\nthree\n"
    assert "".join(heard).startswith("one\ntwo\n"), heard
    await asyncio.gather(*answers)


async def destruction(v):
    sandbox_id = (await v.ok("create_sandbox"))["sandbox_id"]
    begun = asyncio.Event()

    async def progress(*_):
        begun.set()

    arguments = {"sandbox_id": sandbox_id, "command": "echo here; sleep 3600", "timeout_ms": 3_600_000}
    running = asyncio.create_task(v.call("run_command", arguments, progress))
    await asyncio.wait_for(begun.wait(), 60)
    await v.ok("destroy_sandbox", {"sandbox_id": sandbox_id})
    ended = await running
    assert ended.is_error and ended.structured_content["error"]["code"] == "not_found", ended


async def strangers(v):
    if KIND == "http" and VERSION == "2026-07-28":
        # There are no sessions: sandboxes belong to the token.
        async with connected() as other:
            assert [one["sandbox_id"] for one in (await other.ok("list_sandboxes"))["sandboxes"]] == [v.sandbox_id]
        assert (await v.run("echo still"))["stdout"] == "still\n"
        return
    async with connected() as other:
        assert (await other.ok("list_sandboxes"))["sandboxes"] == []
        await other.refused("not_found", "run_command", {"sandbox_id": v.sandbox_id, "command": "true"})
        await other.refused("not_found", "destroy_sandbox", {"sandbox_id": v.sandbox_id})
        await other.ok("create_sandbox")
    assert [one["sandbox_id"] for one in (await v.ok("list_sandboxes"))["sandboxes"]] == [v.sandbox_id]


async def main():
    async with connected() as visitor:
        visitor.sandbox_id = (await visitor.ok("create_sandbox"))["sandbox_id"]
        for act in [tools, sandboxes, commands, code, files, time, destruction, strangers]:
            print(act.__name__, flush=True)
            await act(visitor)
    print("done")


asyncio.run(main())
