"""Council runs with an artifacts folder, and the contents of such folders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.interfaces.shell import Done, pnyx
from tests.support.script import Request

__all__ = ["council", "exported", "member", "state", "tree"]


def member(request: Request) -> str:
    """Reply as a council member: a round of different votes, then a majority for Participant B."""
    prompt, name = request.text, request.model
    if "Your task: vote." in prompt:
        if "second draft" not in prompt:
            return "FINALIZE: Participant B\nB > A > C" if name == "gamma" else "REVISE: the cost\nB > C > A"
        return "FINALIZE: Participant B"
    if "Your task: say whether" in prompt:
        return "REJECT: too long" if name == "gamma" else "APPROVE"
    if "Your task: write the text that is handed out." in prompt:
        return "The merged text.\nFinal answer: 42"
    if "Your task: review." in prompt:
        return "\n".join(f"## Participant {letter}\n{name} sees a flaw." for letter in "ABC")
    if "Your task: answer the reviews." in prompt:
        return f"{name} stands by it."
    return f"{name}'s {'second' if 'no proposal has a majority' in prompt else 'first'} draft."


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
