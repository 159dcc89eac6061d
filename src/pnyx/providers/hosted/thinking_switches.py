"""How hosts with OpenAI's API turn thinking on and off, where OpenAI's parameter does not do it.

From the documentation of the hosts: DashScope, SiliconFlow, ModelScope, Qianfan, Novita and Hunyuan
(`enable_thinking`, `thinking_budget`); Z.ai, Ark, Moonshot, DeepSeek, MiniMax, MiMo, LongCat and Spark
(`thinking`); NIM and SambaNova (`chat_template_kwargs`, as in vLLM, SGLang and llama.cpp); Together
(`reasoning`); Mistral and Cohere (OpenAI's parameter, with two of its levels); StepFun (all of them); Groq.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base import Call
from .thinking import SHARES, wanted_effort

__all__ = ["set_router_thinking", "set_thinking"]

_ENABLE, _TYPE, _TEMPLATE, _REASONING, _EFFORT = "enable", "type", "template", "reasoning", "effort"
_TWO_LEVELS = "two levels"
"""OpenAI's parameter, which is "high" or "none"."""

_HOSTS: Mapping[str, str] = {
    **dict.fromkeys(("aliyuncs.com", "siliconflow.cn", "siliconflow.com", "modelscope.cn"), _ENABLE),
    **dict.fromkeys(("baidubce.com", "novita.ai", "hunyuan.cloud.tencent.com"), _ENABLE),
    **dict.fromkeys(("bigmodel.cn", "z.ai", "volces.com", "bytepluses.com", "moonshot.ai"), _TYPE),
    **dict.fromkeys(("moonshot.cn", "deepseek.com", "minimax.io", "minimaxi.com", "xiaomimimo.com"), _TYPE),
    **dict.fromkeys(("kimi.com", "longcat.chat", "xf-yun.com"), _TYPE),
    **dict.fromkeys(("nvidia.com", "sambanova.ai"), _TEMPLATE),
    **dict.fromkeys(("together.ai", "together.xyz"), _REASONING),
    **dict.fromkeys(("openai.com", "azure.com", "x.ai", "groq.com", "cerebras.ai"), _EFFORT),
    **dict.fromkeys(
        ("googleapis.com", "fireworks.ai", "perplexity.ai", "stepfun.com", "stepfun.ai"), _EFFORT
    ),
    **dict.fromkeys(("mistral.ai", "cohere.ai", "cohere.com"), _TWO_LEVELS),
}
"""The end of a host's name -> what it reads."""


def set_thinking(body: dict[str, Any], host: str, call: Call, reasons: bool) -> None:
    """Change the body of a request for `call` to what `host` reads.

    reasons: whether the model has written thoughts, or may not write any. Only then are they switched off:
    a model that has none may refuse it.
    """
    if (effort := wanted_effort(call)) is None:
        return
    thinks = effort != "none"
    if not thinks and not reasons and "reasoning_effort" not in body:
        return
    form = next((form for name, form in _HOSTS.items() if f".{host}".endswith(f".{name}")), "")
    if "gpt-oss" in call.model.lower():
        # OpenAI's open models read its parameter wherever they run, and always think.
        body["reasoning_effort"] = effort if thinks else "low"
        return
    if form == _TWO_LEVELS:
        body["reasoning_effort"] = "high" if thinks else "none"
    elif form == _EFFORT:
        if host.endswith("groq.com") and "qwen" in call.model.lower():
            body["reasoning_effort"] = "default" if thinks else "none"
    elif form == _ENABLE:
        body["enable_thinking"] = thinks
        tokens = call.thinking_tokens or (SHARES[effort] * call.max_tokens if call.effort in SHARES else 0)
        if thinks and tokens:
            body["thinking_budget"] = round(tokens)
    elif form == _TYPE:
        on = "adaptive" if "minimax" in host else "enabled"
        body["thinking"] = {"type": on if thinks else "disabled"}
    elif form == _REASONING:
        body["reasoning"] = {"enabled": thinks}
    elif form == _TEMPLATE or not thinks:
        # Chat templates name it in two ways. A host of no known kind may read this, or the effort.
        body["chat_template_kwargs"] = {"enable_thinking": thinks, "thinking": thinks}
    if form in (_ENABLE, _TEMPLATE) or (form in (_TYPE, _REASONING) and not thinks):
        body.pop("reasoning_effort", None)


def set_router_thinking(body: dict[str, Any], call: Call, reasons: bool) -> None:
    """Add how much `call` may think as OpenRouter reads it, at whatever address it is.

    reasons: as in `set_thinking`. Some models of the router refuse to be without thoughts.
    """
    if (effort := wanted_effort(call)) is None:
        return
    named = body.pop("reasoning_effort", None) is not None
    if effort == "none" and not (reasons or named):
        return
    tokens = call.thinking_tokens if effort != "none" else None
    body["reasoning"] = {"max_tokens": tokens} if tokens else {"effort": effort}
