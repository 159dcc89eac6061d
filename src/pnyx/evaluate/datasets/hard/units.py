"""Conversions over several units, computed in exact fractions; the question has all conversion factors."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from ..drawing import Draft, Kind, rounded

__all__ = ["UNITS"]

MILE = Fraction("1.609344")
"""Kilometres."""
GALLON = Fraction("3.785411784")
"""Litres in a US gallon."""


def _pool(rng: Random) -> Draft:
    length, width, depth = rng.randint(8, 25), rng.randint(4, 10), Fraction(rng.randint(11, 24), 10)
    inflow, leak = rng.randint(180, 420), rng.randint(200, 900)
    litres = length * width * depth * 1000
    hours = litres / (inflow * 60 - leak * GALLON)
    return rounded(
        f"A pool {length} m long, {width} m wide and {float(depth)} m deep is empty. A pump fills in "
        f"{inflow} litres a minute, while {leak} US gallons an hour leak out. 1 US gallon is "
        f"{float(GALLON)} litres. After how many hours is the pool full?",
        hours,
        2,
    )


def _pace(rng: Random) -> Draft:
    minutes, seconds = rng.randint(4, 9), rng.randint(1, 59)
    kilometres_an_hour = 3600 / Fraction(60 * minutes + seconds) * MILE
    return rounded(
        f"A runner needs {minutes} minutes and {seconds} seconds for each mile. 1 mile is {float(MILE)} km. "
        "How fast is that in km/h?",
        kilometres_an_hour,
        2,
    )


def _plating(rng: Random) -> Draft:
    wide, high, micrometres = rng.randint(20, 95), rng.randint(20, 95), Fraction(rng.randint(5, 40), 10)
    metal, density = rng.choice((("gold", "19.32"), ("silver", "10.49"), ("nickel", "8.908")))
    cubic_centimetres = 2 * wide * high * micrometres / 10_000
    return rounded(
        f"Both faces of a plate of {wide} cm by {high} cm are covered with {metal}, {float(micrometres)} "
        f"micrometres thick; the edges stay bare. The density of {metal} is {density} g/cm^3. "
        f"How many milligrams of {metal} does that take?",
        cubic_centimetres * Fraction(density) * 1000,
        1,
    )


def _battery(rng: Random) -> Draft:
    milliamperes, volts = 50 * rng.randint(40, 120), rng.choice(("3.6", "3.7", "3.85"))
    watts, losses = Fraction(rng.randint(12, 95), 10), rng.choice((5, 8, 12, 15))
    hours = Fraction(milliamperes, 1000) * Fraction(volts) * (100 - losses) / 100 / watts
    return rounded(
        f"A battery of {milliamperes} mAh at {volts} V feeds a device that takes {float(watts)} W, and "
        f"{losses} % of the battery's energy is lost on the way. For how many minutes does it last?",
        hours * 60,
        1,
    )


def _download(rng: Random) -> Draft:
    gibibytes, megabits = Fraction(rng.randint(15, 480), 10), 10 * rng.randint(3, 90)
    return rounded(
        f"A file of {float(gibibytes)} GiB is sent at {megabits} Mbit/s. 1 GiB is 2^30 bytes, 1 Mbit is "
        "10^6 bits, and 1 byte is 8 bits. How many seconds does it take?",
        gibibytes * 2**30 * 8 / (megabits * 10**6),
        1,
    )


def _temperature(rng: Random) -> Draft:
    start, fall, rise = rng.randint(20, 90), rng.randint(7, 40), 9 * rng.randint(1, 6)
    celsius = Fraction(start - 32) * 5 / 9 - fall + Fraction(rise * 5, 9)
    return rounded(
        f"It is {start} degrees Fahrenheit. The temperature falls by {fall} kelvin and then rises by {rise} "
        "degrees Fahrenheit. What is it then in kelvin, when 0 degrees Celsius is 273.15 K?",
        celsius + Fraction("273.15"),
        2,
    )


def _fuel(rng: Random) -> Draft:
    litres, miles = Fraction(rng.randint(41, 99), 10), rng.randint(250, 900)
    price = Fraction(rng.randint(290, 480), 100)
    gallons = miles * MILE * litres / 100 / GALLON
    return rounded(
        f"A car uses {float(litres)} litres of fuel for 100 km and drives {miles} miles. Fuel costs "
        f"${float(price):.2f} a US gallon. 1 mile is {float(MILE)} km, 1 US gallon is {float(GALLON)} "
        "litres. How many dollars does the fuel cost?",
        gallons * price,
        2,
    )


UNITS: tuple[Kind, ...] = (_pool, _pace, _plating, _battery, _download, _temperature, _fuel)
