"""Precise facts: computed where possible, else definitions and facts that do not change."""

from __future__ import annotations

import calendar
import math
import string
from datetime import UTC, date, datetime
from ipaddress import ip_network
from itertools import combinations_with_replacement, count

from ..drawing import Kind, fixed

__all__ = ["FACTS"]

ELEMENTS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb "
    "Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu "
    "Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db "
    "Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
)
SYMBOLS = ELEMENTS.split()
"""Symbols of the elements by atomic number, from 1."""
STATES = (
    "Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Georgia Hawaii Idaho "
    "Illinois Indiana Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts Michigan Minnesota "
    "Mississippi Missouri Montana Nebraska Nevada New-Hampshire New-Jersey New-Mexico New-York "
    "North-Carolina North-Dakota Ohio Oklahoma Oregon Pennsylvania Rhode-Island South-Carolina "
    "South-Dakota Tennessee Texas Utah Vermont Virginia Washington West-Virginia Wisconsin Wyoming"
)


def _protons(**formula: int) -> int:
    return sum(number * (SYMBOLS.index(symbol) + 1) for symbol, number in formula.items())


def _letter_of_no_state() -> str:
    (letter,) = set(string.ascii_lowercase) - set(STATES.lower())
    return letter.upper()


def _in_two_ways() -> int:
    """The smallest number that is the sum of two positive cubes in two ways."""
    cubes = [n**3 for n in range(1, 20)]
    sums = [a + b for a, b in combinations_with_replacement(cubes, 2)]
    return min(total for total in sums if sums.count(total) > 1)


def _first_not_in_a_double() -> int:
    return next(n for n in count(2**53 - 2) if int(float(n)) != n)


def _roman(number: int) -> str:
    out = ""
    for value, numeral in zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
        strict=True,
    ):
        times, number = divmod(number, value)
        out += numeral * times
    return out


BLACK_KEYS = sum(note % 12 in (1, 3, 6, 8, 10) for note in range(21, 109))
"""The octaves of a piano, whose lowest and highest notes have the MIDI numbers 21 and 108."""
PIPS = sum(a + b for a, b in combinations_with_replacement(range(7), 2))
ROMAN = 2949
MIXED = "a\u00e9\u20ac\U0001f600"
HOSTS = len(list(ip_network("10.0.0.0/21").hosts()))
LAST_SECOND = datetime.fromtimestamp(2**32 - 1, UTC)
LONG_YEARS = [year for year in range(2001, 2101) if date(year, 12, 28).isocalendar().week == 53]
LEAP_YEARS = calendar.leapdays(1601, 2101)

FACTS: tuple[Kind, ...] = (
    fixed(
        "How many leap years are there from 1601 to 2100, both included, in the Gregorian calendar? "
        "Answer with a number.",
        str(LEAP_YEARS),
    ),
    fixed(
        "What is the smallest positive whole number that an IEEE 754 double (binary64) cannot represent "
        "exactly? Answer with the number in digits.",
        str(_first_not_in_a_double()),
    ),
    fixed(
        "How many addresses can be given to hosts in an IPv4 network with the prefix length 21, when the "
        "network address and the broadcast address are not given to hosts? Answer with a number.",
        str(HOSTS),
    ),
    fixed(
        "How many bytes does a text take in UTF-8 that consists of the letter a, the letter e with an "
        "acute accent as one code point (U+00E9), the euro sign (U+20AC) and the grinning face (U+1F600)? "
        "Answer with a number.",
        f"{len(MIXED.encode())} bytes",
    ),
    fixed(
        "Of the chemical elements with atomic numbers up to 83, just two are liquid at 25 degrees Celsius "
        "and normal pressure: mercury, and which other? Answer with the name of the element.",
        "bromine",
    ),
    fixed(
        "How many chemical elements have a symbol of just one letter? Answer with a number.",
        str(sum(len(symbol) == 1 for symbol in SYMBOLS)),
    ),
    fixed(
        "Which letter of the English alphabet occurs in the name of none of the 50 states of the USA? "
        "Answer with the letter.",
        _letter_of_no_state(),
    ),
    fixed(
        "Which planet of the solar system takes longer to turn once about its axis, relative to the stars, "
        "than to go once around the sun? Answer with the name.",
        "Venus",
    ),
    fixed(
        "What is the smallest positive whole number that is the sum of two positive cubes in two different "
        "ways? Answer with a number.",
        str(_in_two_ways()),
    ),
    fixed(
        "Which sea is bounded by ocean currents alone and touches no coast of a continent? Answer with its "
        "name, without the word Sea.",
        "Sargasso",
    ),
    fixed(
        "Just two countries border only on countries that have no coast on an ocean or on a sea joined to "
        "one, and have none themselves. One is Liechtenstein; which is the other? Answer with the name of "
        "the country.",
        "Uzbekistan",
    ),
    fixed(
        "How many black keys has a modern piano with 88 keys? Answer with a number.",
        str(BLACK_KEYS),
    ),
    fixed(
        "How many pips are there on all tiles of a double-six set of dominoes together? Answer with a "
        "number.",
        str(PIPS),
    ),
    fixed(f"Which number is written {_roman(ROMAN)} in Roman numerals? Answer in digits.", str(ROMAN)),
    fixed(
        "What does Python 3 print for print(round(0.5) + round(1.5) + round(2.5) + round(3.5))? "
        "Answer with a number.",
        str(round(0.5) + round(1.5) + round(2.5) + round(3.5)),
    ),
    fixed(
        "Let p be the value of -17 % 5 in Python 3, and c the value of -17 % 5 in C (C99 or later). "
        "What is 10 * p + c? Answer with a number.",
        str(10 * (-17 % 5) + int(math.fmod(-17, 5))),
    ),
    fixed(
        "Where the Gregorian calendar was first introduced, which date followed directly upon Thursday, 4 "
        "October 1582? Answer with the date as YYYY-MM-DD.",
        "1582-10-15",
    ),
    fixed(
        "How many of the years from 2001 to 2100, both included, have 53 weeks by ISO 8601? Answer with a "
        "number.",
        str(len(LONG_YEARS)),
    ),
    fixed(
        "On which date, in UTC, does an unsigned 32-bit count of the seconds since 1970-01-01 00:00:00 UTC, "
        "without leap seconds, reach its largest value? Answer with the date as YYYY-MM-DD.",
        f"{LAST_SECOND:%Y-%m-%d}",
    ),
    fixed(
        "How many protons are there in one molecule of glucose, C6H12O6, plus one molecule of sulfuric "
        "acid, H2SO4? Answer with a number.",
        str(_protons(C=6, H=12, O=6) + _protons(H=2, S=1, O=4)),
    ),
)
