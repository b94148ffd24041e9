"""Numbers for people, written as the program does it (internal/printable/numbers.go)."""

from __future__ import annotations

import math
from typing import Tuple

_TIMES = (
    (0.9995e-6, 1e-9, "ns"),
    (0.9995e-3, 1e-6, "µs"),
    (0.9995, 1e-3, "ms"),
    (120, 1, "s"),
    (7200, 60, "min"),
    (48 * 3600, 3600, "h"),
)


def count(n: float) -> str:
    """All digits, in groups of three: 1,281,167."""
    return format(round(n), ",")


def size(n: float) -> str:
    """Bytes in binary units: 37 B, 1.4 GiB."""
    unit = "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if n < 1024:
            break
        n, unit = n / 1024, larger
    return ("%.0f %s" if unit == "B" or n >= 100 or n == int(n) else "%.1f %s") % (n, unit)


def value(x: float) -> str:
    """Four digits; from 1,000 to 10 million all those before the point: 0.01234, 12.5, 26,881, 4.194e7."""
    a = abs(x)
    if math.isnan(x) or math.isinf(x):
        return str(x)
    if a and not 1e-4 <= a < 1e7:
        m, e = ("%.3e" % x).split("e")
        return "%se%d" % (m.rstrip("0").rstrip("."), int(e))
    if a >= 999.95 or a == int(a):
        return format(int(math.copysign(math.floor(a + 0.5), x)), ",")
    return "%.4g" % x


def percent(x: float) -> str:
    """A share of 1 with one decimal place. Nearly all is never 100.0 %, nearly nothing never 0.0 %."""
    if 0.9995 < x < 1:
        return "%.2f %%" % (math.floor(x * 1e4) / 100)
    if 0 < x < 0.0005:
        return value(float("%.2g" % (x * 100))) + " %"
    return "%.1f %%" % (x * 100)


def seconds(s: float) -> str:
    """A measured time with three digits: 20 µs, 1.5 s, 2.5 min."""
    if s < 0:
        return "-" + seconds(-s)
    each, name = _unit(s)
    return "%s %s" % (value(float("%.3g" % (s / each))), name)


def _unit(s: float) -> Tuple[float, str]:
    if s == 0:
        return 1, "s"
    return next(((each, name) for limit, each, name in _TIMES if s < limit), (86400, "days"))
