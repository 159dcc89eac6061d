"""aider: it edits a file of a repository and commits, with a small model for the message."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import KEY, URL, check, expect, lab, run, texts_sent

AIDER = Path(sys.executable).parent / "aider"
FLAGS = (
    *("--yes-always", "--no-check-update", "--analytics-disable", "--no-gitignore", "--no-pretty"),
    *("--no-show-model-warnings", "--no-suggest-shell-commands", "--no-detect-urls", "--map-tokens", "0"),
)
DIFF = """I change the greeting.

hello.py
```python
<<<<<<< SEARCH
print("hello")
=======
print("good morning")
>>>>>>> REPLACE
```
"""
WHOLE = """hello.py
```python
print("good evening")
```
"""


def aider(folder: Path, *arguments: str) -> str:
    environment = {
        **os.environ,
        "OPENAI_API_BASE": f"{URL}/v1",
        "OPENAI_API_KEY": KEY,
        "HOME": str(folder),
        # Its table of prices is one that it has with it.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    command = [AIDER, *FLAGS, "--weak-model", "openai/title-helper", *arguments, "hello.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=150)
    return done.stdout + done.stderr


def repository() -> Path:
    folder = Path(tempfile.mkdtemp())
    (folder / "hello.py").write_text('print("hello")\n')
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@localhost"]
    for command in (["git", "init", "-q"], ["git", "add", "."], [*git, "commit", "-qm", "start"]):
        subprocess.run(command, cwd=folder, check=True)
    for name in ("name", "email"):
        subprocess.run(["git", "config", f"user.{name}", "ada@localhost"], cwd=folder, check=True)
    return folder


def message(folder: Path) -> str:
    log = ["git", "log", "-1", "--format=%s"]
    return subprocess.run(log, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@check("an edit as a diff, and its commit")
def diff() -> None:
    folder = repository()
    lab.on(text=DIFF)
    lab.on("helper", text="feat: say good morning")
    flags = ("--model", "openai/pnyx/voting", "--edit-format", "diff", "--stream")
    shown = aider(folder, *flags, "-m", "Say good morning.")
    expect((folder / "hello.py").read_text() == 'print("good morning")\n', shown)
    expect(message(folder) == "feat: say good morning", message(folder))
    # The format of its edits is in its system message.
    expect("SEARCH/REPLACE" in texts_sent("system"), texts_sent("system")[:2000])


@check("a whole file, without a stream")
def whole() -> None:
    folder = repository()
    lab.on(text=WHOLE)
    lab.on("helper", text="feat: say good evening")
    flags = ("--model", "openai/pnyx/voting", "--edit-format", "whole", "--no-stream")
    shown = aider(folder, *flags, "-m", "Say good evening.")
    expect((folder / "hello.py").read_text() == 'print("good evening")\n', shown)


@check("a question")
def question() -> None:
    shown = aider(repository(), "--model", "openai/pnyx/voting", "-m", "/ask What is 6 times 7?")
    expect("It is six times seven." in shown, shown)


@check("through Anthropic's API")
def claude() -> None:
    folder = repository()
    lab.on(text=DIFF)
    lab.on("helper", text="feat: say good morning")
    os.environ |= {"ANTHROPIC_API_BASE": URL, "ANTHROPIC_API_KEY": KEY}
    flags = ("--model", "anthropic/pnyx/voting", "--edit-format", "diff")
    shown = aider(folder, *flags, "-m", "Say good morning.")
    expect((folder / "hello.py").read_text() == 'print("good morning")\n', shown)


@check("errors")
def errors() -> None:
    shown = aider(repository(), "--model", "openai/gpt-9", "-m", "Who?")
    expect("gpt-9" in shown, shown)


run("aider-chat")
