"""Patterns of the public names of model families, for themselves and for each other.

Does not know the panel or the catalogue. All patterns ignore case unless they say otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "FAMILIES",
    "FAMILY_WORDS",
    "HOUSEHOLD",
    "JOIN",
    "LEFT",
    "ORDINARY",
    "RIGHT",
    "SPACE",
    "STEMS",
    "TAIL",
    "Family",
    "company",
]

# Chinese and Japanese have no spaces around a name, so their characters are not part of it. Nor do they have
# case: if Python looks for it, compiling the pattern takes three times as long.
ALNUM = r"(?-i:[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff])"
LEFT = rf"(?<!{ALNUM})(?<!{ALNUM}_)"
RIGHT = rf"(?!_?{ALNUM})"
JOIN = r"[-._:/@\u2010-\u2013]"
SPACE = r"[^\S\r\n]"
"""White space between the parts of a name; a name never continues on the next line."""

_NUMBER = r"\d+(?:[a-z]{1,2}\d*[a-z]?)?(?:\.\d+[a-z]{0,2})*"
_SIZE = "sonnet|opus|haiku|mini|nano|turbo|flash|instruct|preview|thinking|coder"
_AFTER_HYPHEN = (
    rf"{_SIZE}|{_NUMBER}|[a-z]\d[\w.]*|pro|max|lite|large|medium|small|base|chat|code|it|vl|next|exp|latest"
    r"|distill|nemo|oss|codex|ultra|fp\d+|bf16|gguf"
)
_AFTER_SPACE = (
    rf"{_SIZE}|\d{{1,3}}(?:\.\d+)?[bm]|[rv]\d(?:\.\d+)?"
    r"|\d{1,2}(?:\.\d+|o)?(?!\s?(?:%|percent|times|out\b|of\b))"
    r"|(?-i:Pro|Max|Lite|Large|Medium|Small|Chat|Code|Ultra|Coder|Next|Nemo|Thinking)"
)
TAIL = rf"(?:(?:{_NUMBER}|{JOIN}(?:{_AFTER_HYPHEN})|{SPACE}(?:{_AFTER_SPACE})){RIGHT}){{0,8}}"
"""The rest of a family's name: versions, sizes, dates. After a space, only words that are unlikely in
prose."""

_PEOPLE = r"(?!\s(?:Shannon|Monet|Debussy|L[eé]vi|Bernard|Berrou|Chabrol|Rains|Juncker|Van\s))"


@dataclass(frozen=True, slots=True)
class Family:
    """A model family. words: words in a reference ("provider:model") that identify it. The rest are patterns.

    heads: names that versions follow. makers: companies known only for it. others: words with other meanings,
    which are names only where a model refers to itself.
    """

    words: tuple[str, ...]
    heads: str
    makers: str = ""
    others: str = ""


FAMILIES = (
    Family(
        ("openai", "gpt", "chatgpt", "o1", "o3", "o4"),
        r"chat[-\s]?gpt|gpt(?=[-\s\u2010-\u2015]?\d|-oss)|o[134](?=-(?:mini|preview|pro))",
        r"open[-\s]?ai",
        "gpt",
    ),
    Family(
        ("anthropic", "claude"),
        rf"(?<!jean-)(?<!jean\s)claude{_PEOPLE}|(?:sonnet|opus|haiku)(?=[-\s]\d)",
        "anthropic",
    ),
    Family(
        ("google", "gemini", "gemma", "deepmind"), "gemini|gemma", r"(?:google\s)?deepmind", "google|bard"
    ),
    Family(
        ("mistral", "mistralai", "mixtral", "ministral", "codestral", "magistral", "devstral", "pixtral"),
        r"mistral(?:[-\s]?ai)?|mixtral|ministral|codestral|magistral|devstral|pixtral",
    ),
    Family(
        ("llama", "codellama", "tinyllama"),
        r"(?:meta[-\s]|code[-\s]?|tiny[-\s]?)?llama",
        others=r"meta(?:[-\s]ai)?",
    ),
    Family(("qwen", "qwq"), "qwen|qwq|通义千问", others="alibaba(?:\\scloud)?|tongyi"),
    Family(("deepseek",), r"deep[-\s]?seek(?:[-\s]ai)?"),
    Family(("grok", "xai"), r"(?-i:Grok)|grok(?=-?\d)", r"(?-i:xAI)|x\.ai", "grok"),
    Family(("smollm",), "smollm", others=r"hugging[-\s]?face"),
    Family(("phi",), r"phi(?=[-\s]?\d)", others="phi|microsoft|copilot"),
    Family(("cohere", "command"), r"(?-i:Command\s[RA])(?!\w)\+?|command-[ra](?!\w)\+?", "cohere"),
    Family(("kimi", "moonshot", "moonshotai"), "kimi", r"moonshot(?:[-\s]?ai)?"),
    Family(("glm", "chatglm", "zhipu"), r"(?:chat)?glm(?=-?\d)", r"zhipu(?:[-\s]?ai)?", "glm"),
    Family(("nemotron",), "nemotron", others="nvidia"),
    Family(("granite",), r"granite(?=[-\s]\d)", others="granite|ibm"),
    Family(("falcon",), r"falcon(?=[-\s]?\d)", others="falcon"),
    Family(("olmo", "tulu", "allenai"), "olmo|tulu", others="ai2"),
    Family(("nova",), r"amazon\snova", others="amazon|nova"),
    Family(("jamba",), "jamba", "ai21"),
    Family(("minimax",), r"minimax(?=-[mt])", others="minimax"),
    Family(("ernie",), r"ernie(?=[-\s]\d)", others="ernie|baidu"),
    Family(("hunyuan",), "hunyuan", others="tencent"),
    Family(("doubao",), "doubao", others="bytedance"),
    Family(("perplexity", "sonar"), r"sonar(?=-)", "(?-i:Perplexity)", "perplexity"),
)

FAMILY_WORDS = frozenset(word for family in FAMILIES for word in family.words)

STEMS = (
    *("gpt", "openai", "o1", "o3", "o4", "claude", "sonnet", "opus", "haiku", "anthropic", "gemini", "gemma"),
    *("deepmind", "google", "bard", "stral", "xtral", "llama", "meta", "qwen", "qwq", "通义", "alibaba"),
    *("tongyi", "deepseek", "grok", "xai", "x.ai", "smollm", "hugging", "phi", "microsoft", "copilot"),
    *("command", "cohere", "kimi", "moonshot", "glm", "zhipu", "nemotron", "nvidia", "granite", "ibm"),
    *("falcon", "olmo", "tulu", "ai2", "nova", "jamba", "minimax", "ernie", "baidu", "hunyuan", "tencent"),
    *("doubao", "bytedance", "sonar", "perplexity", "amazon", "apple", "intel"),
)
"""Every name above contains one of these, without white space and hyphens."""

ORDINARY = frozenset(
    (
        *(
            "local",
            "embedded",
            "remote",
            "cloud",
            "host",
            "server",
            "default",
            "main",
            "test",
            "fake",
            "free",
        ),
        *("together", "fireworks", "azure", "vertex", "bedrock", "us", "eu", "apac", "global", "latest"),
        *("accounts", "models", "model", "publishers", "projects", "library"),
    )
)
"""Model owners with everyday words as names: masked in a reference, and where a model names itself."""

HOUSEHOLD = frozenset(
    (
        *("google", "meta", "microsoft", "amazon", "nvidia", "ibm", "alibaba", "apple", "intel", "baidu"),
        *("tencent", "perplexity"),
    )
)
"""Providers that are known for other things too."""


def company(name: str) -> str:
    """The pattern of a household name: with its case, and not at the start of another product's name."""
    cased = f"(?-i:{name.capitalize()}|{name.upper()})"
    product = r"\s(?!Gem|DeepMind|AI\b|GPT|Llama|Qwen|Phi|Nova|Nemotron|Granite)[A-Z]"
    return f"{cased}(?!(?-i:{product}))|{name}(?=[:/])"
