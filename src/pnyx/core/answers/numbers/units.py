"""Units of measure and their names: `km/h` and `kilometres per hour` are a length over a time."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from ...caching.regex import regex
from ..words import table

__all__ = ["NONE", "Unit", "read_unit"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measure. symbol: its canonical text, which parses to the same unit. factor: in base units.

    dimensions: (dimension, power), sorted, without power 0. Units with equal dimensions convert.
    """

    symbol: str
    factor: Fraction
    dimensions: tuple[tuple[str, int], ...]

    @property
    def meanings(self) -> tuple[Unit, ...]:
        """The units that this can mean: a pound is a weight or a currency, a degree an angle or a
        temperature."""
        return (self, *(_SYMBOLS[s] for s in _AMBIGUOUS.get(self.symbol, ())))


# symbol | prefixes | dimension | factor | names, singular
_TABLE = """
m     | kcmdμn | length       | 1            | metre, meter
in    |        | length       | 0.0254       | inch, inche
ft    |        | length       | 0.3048       | foot, feet
yd    |        | length       | 0.9144       | yard
mi    |        | length       | 1609.344     | mile
nmi   |        | length       | 1852         | nautical mile
ly    |        | length       | 9460730472580800 | light year, light-year
g     | kmμ    | mass         | 1            | gram, gramme
t     |        | mass         | 1000000      | tonne, metric ton
lb    |        | mass         | 453.59237    |
oz    |        | mass         | 28.349523125 | ounce
s     | mμn    | time         | 1            | second, sec
min   |        | time         | 60           | minute
h     |        | time         | 3600         | hour, hr
d     |        | time         | 86400        | day
fortnight |    | time         | 1209600      |
wk    |        | time         | 604800       | week
mo    |        | calendar     | 1            | month
y     |        | calendar     | 12           | year, yr
L     | mcdμ   | length:3     | 0.001        | litre, liter
gal   |        | length:3     | 0.003785411784 | gallon
ha    |        | length:2     | 10000        | hectare
acre  |        | length:2     | 4046.8564224 |
°C    |        | celsius      | 1            | celsius, degree celsius, degree c, deg c, centigrade
°F    |        | fahrenheit   | 1            | fahrenheit, degree fahrenheit, degree f, deg f
K     |        | kelvin       | 1            | kelvin
°     |        | angle        | 1            | degree, deg
rad   |        | radian       | 1            | radian
N     | kM     | mass length time:-2 | 1000            | newton
J     | kMGm   | mass length:2 time:-2 | 1000            | joule
Wh    | kMGT   | mass length:2 time:-2 | 3600000         | watt hour, watt-hour
cal   | k      | mass length:2 time:-2 | 4184        | calorie
eV    | kMG    | electronvolt | 1            | electronvolt, electron volt
W     | kMGTm  | mass length:2 time:-3 | 1000            | watt
V     | kMmμ   | voltage      | 1            | volt
A     | mμk    | current      | 1            | ampere, amp
Ω     | kM     | resistance   | 1            | ohm
Hz    | kMG    | time:-1      | 1            | hertz
Pa    | kMGh   | mass length:-1 time:-2 | 1000            | pascal
bar   | m      | mass length:-1 time:-2 | 100000000       |
atm   |        | mass length:-1 time:-2 | 101325000       | atmosphere
mol   | mμk    | amount       | 1            | mole
dB    |        | level        | 1            | decibel
bit   | kMG    | data         | 1            |
B     | kMGTP  | data         | 8            | byte
KiB   |        | data         | 8192         | kibibyte
MiB   |        | data         | 8388608      | mebibyte
GiB   |        | data         | 8589934592   | gibibyte
TiB   |        | data         | 8796093022208 | tebibyte
usd   |        | usd          | 1            | $, us$, dollar, us dollar, buck
usc   |        | usd          | 0.01         | us cent
eur   |        | eur          | 1            | €, euro
euc   |        | eur          | 0.01         | euro cent, eurocent
gbp   |        | gbp          | 1            | £, pound sterling, british pound
gbx   |        | gbp          | 0.01         | penny, pence
jpy   |        | jpy          | 1            | ¥, yen
cny   |        | cny          | 1            | yuan, renminbi, rmb
inr   |        | inr          | 1            | ₹, rupee, rs, rs.
chf   |        | chf          | 1            | swiss franc, franken, schweizer franken
cad   |        | cad          | 1            | ca$, c$, canadian dollar
aud   |        | aud          | 1            | au$, a$, australian dollar
rub   |        | rub          | 1            | ₽, ruble, rouble, рубль, рубля, рублей, руб
krw   |        | krw          | 1            | ₩, won, 원
brl   |        | brl          | 1            | r$, real, reais
try   |        | try          | 1            | ₺, turkish lira, tl
pln   |        | pln          | 1            | zł, zloty, złoty, złotych
bdt   |        | bdt          | 1            | ৳, taka, টাকা
vnd   |        | vnd          | 1            | ₫, đồng
sek   |        | sek          | 1            | krona, kronor, swedish krona, swedish kronor
nok   |        | nok          | 1            | norwegian krone, norwegian kroner
dkk   |        | dkk          | 1            | danish krone, danish kroner
kr    |        | kr           | 1            | krone, kroner
mxn   |        | mxn          | 1            | peso
¢     |        | cent         | 1            | cent
pound |        | pound        | 1            |
"""
_PREFIXES = {
    "n": ("nano", -9), "μ": ("micro", -6), "m": ("milli", -3), "c": ("centi", -2), "d": ("deci", -1),
    "h": ("hecto", 2), "k": ("kilo", 3), "M": ("mega", 6), "G": ("giga", 9), "T": ("tera", 12),
    "P": ("peta", 15),
}  # fmt: skip
_ALIASES = {
    "mph": "mi/h",
    "kph": "km/h",
    "kmh": "km/h",
    "kmph": "km/h",
    "kilo": "kg",
    "kbps": "kbit/s",
    "mbps": "Mbit/s",
    "gbps": "Gbit/s",
    "kilohm": "kΩ",
    "kilohms": "kΩ",
    "megohm": "MΩ",
    "megohms": "MΩ",
    "n m": "N × m",
    "n·m": "N × m",
    "newton metre": "N × m",
    "newton metres": "N × m",
    "newton-metre": "N × m",
    "newton-metres": "N × m",
    "newton meter": "N × m",
    "newton meters": "N × m",
    "cc": "cm^3",
    "mcg": "μg",
    "ug": "μg",
}
_AMBIGUOUS = {"pound": ("lb", "gbp"), "kr": ("sek", "nok", "dkk"), "°": ("°C", "°F"), "¢": ("usc", "euc")}

_SYMBOLS: dict[str, Unit] = {}
_NAMES: dict[str, Unit] = {}


def _load() -> None:
    for line in _TABLE.strip().splitlines():
        symbol, prefixes, dimension, factor, names = (cell.strip() for cell in line.split("|"))
        dimensions = tuple(
            sorted(
                (base, int(power or 1)) for base, _, power in (d.partition(":") for d in dimension.split())
            )
        )
        for prefix in ("", *prefixes):
            word, exponent = _PREFIXES.get(prefix, ("", 0))
            unit = Unit(prefix + symbol, Fraction(factor) * Fraction(10) ** exponent, dimensions)
            _SYMBOLS[unit.symbol] = unit
            for name in filter(None, names.split(", ")):
                _NAMES[_singular(word + name)] = unit
    for symbol, unit in _SYMBOLS.items():
        # If two symbols differ only in case (mW, MW), the text with its case is looked up first.
        _NAMES.setdefault(_singular(symbol.casefold()), unit)
    del _NAMES["j"]  # 1j is imaginary
    _SYMBOLS.update({"Mb": _SYMBOLS["Mbit"], "Gb": _SYMBOLS["Gbit"]})


@cache
def _foreign() -> dict[str, Unit]:
    """Name of a unit in a language other than English -> the unit."""
    return {name: _SYMBOLS[symbol] for symbol, names in table("unit_names").items() for name in names}


def _singular(name: str) -> str:
    """`name` without the plural s of each word."""
    return " ".join(word.removesuffix("s") if len(word) > 2 else word for word in name.split())


_load()

NONE = Unit("", Fraction(1), ())
"""The unit of a number without one."""

_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}
_FACTOR = regex(
    r"(?:(?P<before>square|sq|cubic|cu)\b\.?\s*)?(?P<name>[^\d^]+?)"
    r"(?:\^\(?(?P<power>-?[1-4])\)?|\s+(?P<after>squared|cubed))?",
    re.IGNORECASE,
)
_PER = regex(r"\s*/\s*|\s+(?:per|each|every|an?)\s+", re.IGNORECASE)
_PRODUCT = regex(r"\s*\u00d7\s*|\s+(?=[A-Za-z]{1,3}\^\(?-\d)")
_MARKS = "\u064b-\u0655\u0900-\u0963\u0970-\u0dff\u0e31-\u0e4e"
"""Vowel signs, which are no letters, and part of words."""
_WORD = rf"(?:[^\W\d_](?:[^\W\d_]|[{_MARKS}])+|[\u3040-\u9fff\uac00-\ud7af])(?:['-][^\W\d_]+)*"
_NOUN = regex(rf"{_WORD}(?: {_WORD}){{0,3}}")
_TAIL = regex(
    r"(?:^|\s+)(?:of|in(?! (?:more|less)$)|on|at|from|for|after|before|with|left|remaining|total|altogether"
    r"|overall|combined|together|old|tall|long|wide|high|deep|away|ago|later|earlier|more|less|fewer|longer"
    r"|faster|each|apiece|worth)(?:\s+[^\W\d_][^\W\d]*){0,4}$",
    re.IGNORECASE,
)
_NO_COUNT = regex(
    r"\b(?:or|and|but|nor|not|than|to|by|minus|plus|over|if|is|are|was|were|has|have|mod|modulo|pi|sqrt|root|log"
    r"|ln|sin|cos|tan|exp|squared|cubed|choose|factorial|infinity|half|halves|(?:third|quarter|fourth|fifth|sixth"
    r"|seventh|eighth|ninth|tenth|hundredth|thousandth|(?:[mb]|tr)illionth)s?"
    r"|(?:hundred|thousand|(?:[mb]|tr)illion|lakh|crore|dozen)s?|zero|one|two|three"
    r"|(?:four|six|seven|nine)(?:teen|ty)?|five|fif(?:teen|ty)|eight(?:een|y)?|ten|eleven|twelve"
    r"|thirteen|twenty|thirty|forty|bce?|b\.c)\b",
    re.IGNORECASE,
)
"""Words after a number that make it another number, a choice or a sentence instead of a count of
something."""


def read_unit(text: str, *, counted: bool = True) -> Unit | None:
    """The unit that `text` names or, if `counted`, the things it counts (`red apples left`); None if
    neither."""
    text = text.strip()
    unit = _compound(text, counted=False) if text else NONE
    if unit or not counted or _NO_COUNT.search(text):
        return unit
    head = _TAIL.sub("", text, count=1)
    return _compound(head, counted=True) if head else NONE


def _compound(text: str, counted: bool) -> Unit | None:
    symbols, factor, dimensions = list[str](), Fraction(1), Counter[str]()
    for place, part in enumerate(_PER.split(text)):
        sign = -1 if place else 1
        for n, name in enumerate(_PRODUCT.split(part)):
            unit = _factor(name, counted)
            if unit is None:
                return None
            symbols += ["\u00d7" if n else "/" if place else "", unit.symbol]
            factor *= unit.factor**sign
            dimensions.update({d: p * sign for d, p in unit.dimensions})
    return Unit("".join(symbols), factor, tuple(sorted((d, p) for d, p in dimensions.items() if p)))


def _factor(text: str, counted: bool) -> Unit | None:
    if unit := _named(text):
        return unit
    match = _FACTOR.fullmatch(text)
    if match and (unit := _named(match["name"].strip())):
        word = match["before"] or match["after"]
        power = int(match["power"] or 1) * (_POWERS[word.lower()] if word else 1)
        dimensions = tuple((d, p * power) for d, p in unit.dimensions)
        return unit if power == 1 else Unit(f"{unit.symbol}^{power}", unit.factor**power, dimensions)
    return _count(text) if counted else None


def _named(text: str) -> Unit | None:
    folded = text.casefold()
    if alias := _ALIASES.get(folded):
        return _compound(alias, counted=False)
    return (
        _SYMBOLS.get(text)
        or _NAMES.get(_singular(folded))
        or _foreign().get(folded)
        or _foreign().get(_singular(folded))
    )


_COUNTER = regex(r"^(?:个|個|つ|개)(?:の|的)?")
"""Words behind any number of anything."""


@cache
def _altering() -> frozenset[str]:
    """Words of other languages that deny or change a number, or add to it: `fem og tyve`, `15 kişi yok`."""
    table_of = table("amounts")
    words = (word for row in table_of["alters"].values() for word in row)
    return frozenset((*(word for word in words if len(word) > 1), *table_of["and"]))


def _count(text: str) -> Unit | None:
    noun = _COUNTER.sub("", text.casefold(), count=1).strip()
    if not noun:
        return NONE
    if not _NOUN.fullmatch(noun) or _NO_COUNT.search(noun) or not _altering().isdisjoint(noun.split()):
        return None
    *_, last = noun.split()
    singular = last.removesuffix("s")
    ends = _NO_COUNT.search(singular) or _TAIL.search(singular)
    if len(last) > 3 and not last.endswith(("ss", "'s")) and not ends:
        noun = noun.removesuffix("s")
    return Unit(noun, Fraction(1), ((f"count of {noun}", 1),))
