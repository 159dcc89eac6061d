"""Council runs with an artifacts folder, and the contents of such folders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from pnyx.prompts import ROOT
from tests.interfaces.shell import Done, pnyx
from tests.support.script import Request

__all__ = ["council", "exported", "member", "state", "tree"]


def member(request: Request) -> str:
    """Reply as a council member: a round of different votes, then a majority for Participant B."""
    prompt, name = request.text, request.model

    def asked(task: str) -> bool:
        """True if `prompt` has the opening words of the prompt file `task`."""
        return (ROOT / "council" / f"{task}.md").read_text("utf-8").partition("{{")[0] in prompt

    if asked("vote"):
        if "second draft" not in prompt:
            return "FINALIZE: Participant B\nB > A > C" if name == "gamma" else "REVISE: the cost\nB > C > A"
        return "FINALIZE: Participant B"
    if asked("confirm"):
        return "REJECT: too long" if name == "gamma" else "APPROVE"
    if asked("synthesise"):
        return "The merged text.\nFinal answer: 42"
    if asked("review"):
        return "\n".join(f"## Participant {letter}\n{name} sees a flaw." for letter in "ABC")
    if asked("rebut"):
        return f"{name} stands by it."
    return f"{name}'s {'second' if asked('propose-again') else 'first'} draft."


def tree(root: Path | str) -> dict[str, bytes]:
    """Return every file below `root`, hidden ones included."""
    root = Path(root)
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def exported(run_id: str, to: str = "exported") -> dict[str, bytes]:
    shutil.rmtree(to, ignore_errors=True)
    done = pnyx("export", run_id, "--format", "folder", "--out", to)
    assert (done.code, done.out) == (0, ""), done.err
    return tree(to)


def council(*args: str) -> Done:
    return pnyx("ask", "-p", "council", "--seed", "3", "--artifacts", "kept", "--json", *args, "How many?")


def state() -> Any:
    return json.loads(Path("kept/state.json").read_text())
