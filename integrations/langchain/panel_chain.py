"""The panel in LangChain, as a tool and as a model.

    pip install PNYX langchain-openai      # PNYX: the folder, a wheel or a Git address of pnyx
    python panel_chain.py "Which index would you add?"

With PNYX_URL and PNYX_KEY set, the panel of that `pnyx serve` is the model; else it runs in this program.
"""

from __future__ import annotations

import os
import sys

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

import pnyx


@tool
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


def panel_as_model(url: str, key: str, name: str = "pnyx/consensus:quick") -> ChatOpenAI:
    """Return the panel of a server as a chat model. url: of `pnyx serve`, without /v1."""
    # A panel takes longer than a model. A client that tries again joins its run: nothing is paid twice.
    return ChatOpenAI(model=name, base_url=f"{url}/v1", api_key=SecretStr(key), timeout=600, max_retries=2)


def main() -> None:
    question = sys.argv[1] if len(sys.argv) > 1 else "Should a two-person startup self-host PostgreSQL?"
    if "PNYX_URL" in os.environ:
        print(panel_as_model(os.environ["PNYX_URL"], os.environ["PNYX_KEY"]).invoke(question).text)
    else:
        import asyncio

        print(asyncio.run(ask_panel.ainvoke({"question": question})))


if __name__ == "__main__":
    main()
