"""The panel in pydantic-ai, as a tool and as a model.

    pip install PNYX pydantic-ai      # PNYX: the folder, a wheel or a Git address of pnyx
    python panel_agent.py "Which index would you add?"

With PNYX_URL and PNYX_KEY set, the panel of that `pnyx serve` is the model; else it runs in this program.
"""

from __future__ import annotations

import asyncio
import os
import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import pnyx


async def ask_panel(question: str, context: str = "", budget_usd: float = 0.5) -> str:
    """Ask a panel of language models that criticise each other. It costs money and takes a minute.

    question: one question that can be understood by itself. context: what the panel needs to know.
    budget_usd: the most that it may cost.
    """
    result = await pnyx.ask(question, context=context or (), budget_usd=budget_usd, preset="quick")
    objections = "\n".join(f"- {one.text}" for one in result.dissent) or "none"
    cost = result.usage["cost_usd"]
    paid = "unknown" if cost is None else f"${cost:.4f}"
    return f"{result.answer}\n\nObjections that stand:\n{objections}\n\nCost: {paid}, run {result.run_id}"


def agent_with_panel(model: str) -> Agent[None, str]:
    """Return an agent of your own model that can ask the panel."""
    return Agent(
        model,
        tools=[ask_panel],
        instructions="Ask the panel where an error is dear. Report its objections and the cost.",
    )


def panel_as_model(url: str, key: str, name: str = "pnyx/consensus:quick") -> Agent[None, str]:
    """Return an agent whose model is the panel of a server. url: of `pnyx serve`, without /v1."""
    provider = OpenAIProvider(base_url=f"{url}/v1", api_key=key)
    # A panel takes longer than a model: ten minutes instead of the usual limit.
    return Agent(OpenAIChatModel(name, provider=provider), model_settings={"timeout": 600})


async def main() -> None:
    question = sys.argv[1] if len(sys.argv) > 1 else "Should a two-person startup self-host PostgreSQL?"
    if "PNYX_URL" in os.environ:
        run = await panel_as_model(os.environ["PNYX_URL"], os.environ["PNYX_KEY"]).run(question)
        print(run.output)
    else:
        print(await ask_panel(question))


if __name__ == "__main__":
    asyncio.run(main())
