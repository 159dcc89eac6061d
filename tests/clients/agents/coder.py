"""A scripted model that works as an agent's model does: it reads a file, mends it, runs its test.

It knows the tools of each agent only by what seats read of them, and what was done by the results that the
prompt shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.scripted import Request

__all__ = ["DONE", "TASK", "TEST", "Coder", "make_project"]

TEST = "python3 test_sums.py"
TASK = f"The test in test_sums.py fails. Read sums.py, mend the fault, and run the test with: {TEST}"
DONE = "The fault is mended and the test passes."
PASSED = "all is well"
WRONG, RIGHT = "return a - b", "return a + b"
READING = ("Read", "read")
EDITING = ("Edit", "edit", "apply_patch")
RUNNING = ("Bash", "bash", "exec_command")
SCRIPTING = "functions.exec"
"""A tool of codex that runs a script, which calls the others."""


def make_project(folder: Path) -> Path:
    """A folder with a module that is wrong, and its test."""
    folder.mkdir(parents=True)
    (folder / "sums.py").write_text(f"def add(a, b):\n    {WRONG}\n")
    (folder / "test_sums.py").write_text(
        f"from sums import add\n\nassert add(2, 3) == 5\nprint('{PASSED}')\n"
    )
    return folder


@dataclass
class Coder:
    """The model. folder: of the project. failing: whether it breaks instead of answering."""

    folder: Path
    failing: bool = False

    def __call__(self, request: Request) -> str:
        tools = tools_in(request.text)
        if not tools:
            return "Mending a test"
        done = len(re.findall(r"^(?:Result|Error) of the tool ", request.text, re.MULTILINE))
        steps: Sequence[Callable[[Mapping[str, Any]], dict[str, Any]]] = (self.read, self.edit, self.run)
        if done >= len(steps):
            assert PASSED in request.text
            return DONE
        call = steps[done](tools)
        return f"The next step.\n```json\n{json.dumps({'tool_calls': [call]})}\n```"

    def read(self, tools: Mapping[str, Any]) -> dict[str, Any]:
        path = str(self.folder / "sums.py")
        if name := first(READING, tools):
            return call_of(name, tools, path=path)
        return self.command(tools, f"cat {path}")

    def edit(self, tools: Mapping[str, Any]) -> dict[str, Any]:
        patch = f"*** Begin Patch\n*** Update File: sums.py\n@@\n-    {WRONG}\n+    {RIGHT}\n*** End Patch\n"
        if SCRIPTING in tools:
            script = f"text(await tools.apply_patch({json.dumps(patch)}))"
            return call_of(SCRIPTING, tools, input=script)
        if name := first(EDITING, tools):
            path = str(self.folder / "sums.py")
            return call_of(name, tools, path=path, old=WRONG, new=RIGHT, input=patch)
        return self.command(tools, f"sed -i 's/{WRONG}/{RIGHT}/' sums.py")

    def run(self, tools: Mapping[str, Any]) -> dict[str, Any]:
        return self.command(tools, TEST)

    def command(self, tools: Mapping[str, Any], command: str) -> dict[str, Any]:
        if SCRIPTING in tools:
            script = f"const r = await tools.exec_command({{cmd: {json.dumps(command)}}}); text(r.output)"
            return call_of(SCRIPTING, tools, input=script)
        return call_of(first(RUNNING, tools), tools, command=command)


def tools_in(text: str) -> dict[str, Mapping[str, Any]]:
    """The tools that a prompt lists: name -> schema of the arguments."""
    listed = re.search(r"<tools>\n(.*?)\n</tools>", text, re.DOTALL)
    found = [json.loads(line) for line in listed[1].splitlines()] if listed else []
    return {one["name"]: one["schema"] for one in found}


def first(names: Sequence[str], tools: Mapping[str, Any]) -> str:
    return next((name for name in names if name in tools), "")


MEANT = {
    "path": ("file_path", "filePath", "filepath", "path"),
    "old": ("old_string", "oldString"),
    "new": ("new_string", "newString"),
    "command": ("command", "cmd"),
    "input": ("input",),
    "description": ("description",),
}
"""What a value is -> its names in the schemas of agents."""


def call_of(name: str, tools: Mapping[str, Any], **values: str) -> dict[str, Any]:
    """A call with each value under its name in the tool's schema."""
    fields = tools[name].get("properties", {})
    arguments = {}
    for meaning, value in {**values, "description": "A step of the task"}.items():
        field = next((field for field in MEANT[meaning] if field in fields), None)
        if field is not None:
            arguments[field] = value
    return {"name": name, "arguments": arguments}
