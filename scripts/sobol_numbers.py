"""Find the first direction numbers of windage's Sobol' sequence and print them as the table of sobol.py.

    python scripts/sobol_numbers.py

Dimension by dimension, of all choices (or of CHOICES that a fixed generator draws), take the one that goes
best with the earlier dimensions, as Joe & Kuo (2008) do with another measure. Ours is the error of integrals
under random scrambling, which the unscrambled points give exactly (Owen 1997; two points are distributed
equally under Matoušek's scramble): the mean of (x_i - 1/2)(x_j - 1/2) over the first 2**k scrambled points
has as its variance the mean of K(x_i) K(x_j) over the unscrambled ones, but for a factor. K(x) depends on the
number of zeros before the first one among the binary digits of x. Products of more coordinates go likewise.

For every k there are two variances: that of all planes with an earlier dimension, and that of the rest of the
product of all x_i + 1/2, which is cubes and beyond, because planes alone leave some cubes poor. The choice
makes the sum of the errors least, each in units of the least that any choice has. Takes some 15 seconds.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from windage.search.sobol import direction_numbers, polynomial_of

DIMENSIONS = 40  # with dimension 0, which has no numbers to choose
DEPTH = 14  # judged at 2, 4, ..., 2**14 points
CHOICES = 4096  # looked at for a dimension that has more
SHARE = 1 / 12  # the variance of x
WIDTH = 110
CHUNK = 128  # at a time, for memory's sake


def kernel() -> NDArray[np.float64]:
    """K of every coordinate with DEPTH digits, in units of its value at 0, which is the variance of x.

    The part of x - 1/2 that digit l adds has the variance 4**-l / 4. Scrambled, two points that first differ
    in digit a + 1 agree in the parts of digits 1 to a, have opposite ones of digit a + 1 and unrelated ones
    beyond.
    """
    zeros = DEPTH - np.array([x.bit_length() for x in range(2**DEPTH)])
    values: NDArray[np.float64] = 1 - 7 / 4 * 0.25**zeros
    values[0] = 1.0
    return values


def points(numbers: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The first 2**DEPTH unscrambled points for every choice of direction numbers, as integers."""
    found = np.zeros((len(numbers[0]), 1), dtype=np.int64)
    for i, number in enumerate(numbers):
        found = np.hstack([found, found ^ (number << (DEPTH - 1 - i))[:, None]])
    return found


def choices(degree: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """First direction numbers to look at: all there are, or CHOICES of them."""
    free = degree * (degree - 1) // 2  # m_i is odd and below 2**i: it has i - 1 free bits
    codes = np.arange(2**free) if 2**free <= CHOICES else rng.integers(2**free, size=CHOICES)
    found = []
    for i in range(degree):
        found.append((codes & ((1 << i) - 1)) << 1 | 1)
        codes = codes >> i
    return found


def main() -> None:
    """Search, and print the table."""
    rng = np.random.default_rng(0)
    line = "   "
    value = kernel()
    ends = [0, *(2**k for k in range(1, DEPTH + 1))]
    total = value[points([np.array([1])] * DEPTH)[0]]  # over the earlier dimensions: the sum of K,
    product = 1 + SHARE * total  # and the product of 1 + SHARE K
    for dimension in range(1, DIMENSIONS):
        polynomial = polynomial_of(dimension)
        initial = choices(polynomial.bit_length() - 1, rng)
        numbers = direction_numbers(polynomial, initial, DEPTH)
        weights = np.stack([total, product - 1 - SHARE * total], axis=1)
        parts = []
        for start in range(0, len(initial[0]), CHUNK):
            part = value[points([number[start : start + CHUNK] for number in numbers])]
            parts.append(np.stack([part[:, a:b] @ weights[a:b] for a, b in pairwise(ends)]))
        # k × choice × (planes, beyond); dimension 1 has nothing beyond planes, and one choice.
        variance = np.maximum(np.cumsum(np.concatenate(parts, axis=1), axis=0), np.finfo(float).tiny)
        cost = np.sqrt(variance / variance.min(axis=1, keepdims=True)).sum(axis=(0, 2))
        best = int(np.argmin(cost))
        mine = value[points([number[best : best + 1] for number in numbers])[0]]
        total, product = total + mine, product * (1 + SHARE * mine)
        row = f"{tuple(int(number[best]) for number in initial)},"
        if len(line) + len(row) + 1 > WIDTH:
            print(line)
            line = "   "
        line = f"{line} {row}"
    print(line)


if __name__ == "__main__":
    main()
