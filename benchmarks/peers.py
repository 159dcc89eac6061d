"""Programs that send four calls a debate through other projects: three answers at once, then one that closes.

None of them keeps a journal, a budget or a lease. They run in an environment of their own:

    python3 -m venv build/peers
    build/peers/bin/pip install conclave-llm autogen-agentchat 'autogen-ext[openai]' langgraph \\
        langchain-openai

Arguments of each program: the base URL of a host that speaks OpenAI's API, and the number of debates.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ["CALLS", "PEERS", "PYTHON", "installed"]

PYTHON = Path("build/peers/bin/python")
CALLS = 4

_BARE = """
import asyncio, sys
from openai import AsyncOpenAI
async def main():
    client = AsyncOpenAI(base_url=sys.argv[1], api_key="none")
    async def ask(model, text):
        messages = [{"role": "user", "content": text}]
        reply = await client.chat.completions.create(model=model, messages=messages)
        return reply.choices[0].message.content
    for _ in range(int(sys.argv[2])):
        answers = await asyncio.gather(*(ask(model, "Should we?") for model in ("alpha", "beta", "gamma")))
        await ask("alpha", "Should we? Which answer is best?\\n" + "\\n".join(answers))
asyncio.run(main())
"""
_CONCLAVE = """
import sys
from conclave.engine import DeliberationEngine
from conclave.providers.openai import OpenAIProvider
panel = [OpenAIProvider(model, model, "none", sys.argv[1]) for model in ("alpha", "beta", "gamma")]
engine = DeliberationEngine(panel, judge_provider=OpenAIProvider("judge", "judge", "none", sys.argv[1]))
for _ in range(int(sys.argv[2])):
    result = engine.run("Should we?", rounds=1)
    assert not result.failed_providers
"""
_AUTOGEN = """
import asyncio, sys
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow
from autogen_ext.models.openai import OpenAIChatCompletionClient
INFO = {"vision": False, "function_calling": False, "json_output": False, "family": "unknown",
        "structured_output": False}
async def main():
    def agent(name):
        client = OpenAIChatCompletionClient(
            model=name, base_url=sys.argv[1], api_key="none", model_info=INFO)
        return AssistantAgent(name, client, description=name, system_message="Answer.")
    panel, judge = [agent(name) for name in ("alpha", "beta", "gamma")], agent("judge")
    for _ in range(int(sys.argv[2])):
        graph = DiGraphBuilder()
        for one in (*panel, judge):
            graph.add_node(one)
        for one in panel:
            graph.add_edge(one, judge)
        team = GraphFlow(participants=graph.get_participants(), graph=graph.build())
        await team.run(task="Should we?")
        for one in (*panel, judge):
            await one.on_reset(None)
asyncio.run(main())
"""
_LANGGRAPH = """
import asyncio, operator, sys
from typing import Annotated, TypedDict
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
class State(TypedDict):
    question: str
    answers: Annotated[list, operator.add]
    verdict: str
def model(name):
    return ChatOpenAI(model=name, base_url=sys.argv[1], api_key="none")
async def main():
    graph = StateGraph(State)
    judge = model("judge")
    def seat(name):
        chat = model(name)
        async def answer(state):
            return {"answers": [(await chat.ainvoke(state["question"])).content]}
        return answer
    async def close(state):
        return {"verdict": (await judge.ainvoke("\\n".join(state["answers"]))).content}
    graph.add_node("judge", close)
    for name in ("alpha", "beta", "gamma"):
        graph.add_node(name, seat(name))
        graph.add_edge(START, name)
    graph.add_edge(["alpha", "beta", "gamma"], "judge")
    graph.add_edge("judge", END)
    app = graph.compile()
    for _ in range(int(sys.argv[2])):
        await app.ainvoke({"question": "Should we?", "answers": []})
asyncio.run(main())
"""
PEERS = {
    "openai SDK, bare asyncio": ("openai", _BARE),
    "conclave": ("conclave", _CONCLAVE),
    "autogen": ("autogen_agentchat", _AUTOGEN),
    "langgraph": ("langgraph", _LANGGRAPH),
}
"""Name -> the module that it needs, and the program."""


def installed(python: Path) -> dict[str, list[str]]:
    """Name -> the command, without its arguments, of each program that `python` can run."""
    if not python.exists():
        return {}
    found = "import importlib.util as u, sys\nfor name in sys.argv[1:]: print(u.find_spec(name) is not None)"
    modules = [module for module, _ in PEERS.values()]
    done = subprocess.run([python, "-c", found, *modules], capture_output=True, text=True, check=True)
    there = [line == "True" for line in done.stdout.split()]
    return {
        name: [str(python), "-c", program]
        for (name, (_, program)), has in zip(PEERS.items(), there, strict=True)
        if has
    }
