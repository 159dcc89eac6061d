"""What the scripted models say in the states of the page."""

from __future__ import annotations

__all__ = ["FLAW", "FORMULAS", "OTHER", "PROPOSAL", "QUESTION", "SHORT", "WRITTEN_SO_FAR"]

QUESTION = "Should a two-person startup self-host PostgreSQL?"
PROPOSAL = """**Use a managed database** until someone is paid to operate one.

1. Backups, failover and upgrades are about *{n} hours a month* of work that brings in no customer.
2. A managed instance costs `$60` to `$120` a month: less than one of those hours.
3. Keep the way out open: plain PostgreSQL, no extensions of the provider's own, a nightly `pg_dump`.

| | managed | self-hosted |
|---|--:|--:|
| per month | $90 | $25 + 4 h |
| recovery, tested | yes | if you do it |

Final answer: no"""
FLAW = (
    "The hours are an average of quiet months. The cost that matters is the **one night** on which a "
    "disk fills, and that one is not in the table. Say what a restore takes, and who does it while the "
    "other one sleeps.\n\nFinal answer: no"
)
OTHER = """A single small server with continuous archiving gives the same recovery for a third of the price.

- WAL archiving to object storage is an afternoon of work.
- Restores can be rehearsed by a timer every Sunday.

What is compared is a tested service with an *untested* one: that is not the choice at hand.

Final answer: yes"""
WRITTEN_SO_FAR = ("disk fills", "afternoon of work")
SHORT = {
    "alpha": "No: a managed database is cheaper. Backups, failover and upgrades are **four hours a month** "
    "of work that brings in no customer.\n\nFinal answer: no",
    "revised": "No: what the price buys is a **tested restore**. Without it, a two-person team pays five "
    "hours a month, and one night on which a disk fills.\n\nFinal answer: no",
    "beta": "The hours are an average of quiet months. The cost that matters is the *one night* on which a "
    "disk fills. Who restores it while the other one sleeps?\n\nFinal answer: no",
    "gamma": "One small server with continuous archiving restores as well, for a third of the price, if a "
    "timer rehearses it every Sunday.\n\nFinal answer: yes",
}
FORMULAS = r"""The mean of $n$ independent errors is $\bar\varepsilon = \frac1n\sum_{i=1}^n \varepsilon_i$, so

$$\operatorname{Var}(\bar\varepsilon) = \frac{\sigma^2}{n}, \qquad
P(\text{wrong}) = \sum_{k > n/2} \binom{n}{k} p^k (1-p)^{n-k}.$$

That is cheap: three votes cost $5 instead of $15 for the large model.

```python
from math import comb

def wrong(n: int, p: float) -> float:  # a majority of n is wrong
    return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n // 2 + 1, n + 1))
```

- [x] independent errors
- [ ] the same training data"""
