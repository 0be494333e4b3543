"""Sobol' points with a random linear scramble, in NumPy alone: `import scipy.stats` takes half a second.

Sobol' (1967) is the construction and Bratley & Fox (1988) the recurrence of its direction numbers; Matoušek
(1998) is the scramble. The first direction numbers of a dimension are free. Those here are ours, found by
scripts/sobol_numbers.py after an idea of Joe & Kuo (2008): make the planes of two coordinates even.
"""

from collections.abc import Sequence
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = TypeVar("Numbers", int, NDArray[np.int64])

DIGITS = 32  # binary digits of a point's index: a sequence has 2**32 points
BITS = 52  # binary digits of a coordinate; with half a unit on top they fill a double exactly

# Row j holds the first direction numbers of dimension j + 1, as many as the degree of its polynomial.
# Dimension 0 needs none. Printed by scripts/sobol_numbers.py.
INITIAL: tuple[tuple[int, ...], ...] = (
    (1,), (1, 1), (1, 3, 1), (1, 3, 5), (1, 1, 7, 1), (1, 3, 7, 13), (1, 3, 1, 9, 15), (1, 3, 1, 5, 19),
    (1, 3, 5, 3, 17), (1, 3, 1, 9, 5), (1, 1, 3, 5, 11), (1, 1, 1, 9, 11), (1, 1, 7, 11, 21, 47),
    (1, 1, 7, 13, 7, 5), (1, 1, 1, 1, 29, 45), (1, 1, 1, 5, 23, 29), (1, 3, 7, 3, 7, 57),
    (1, 3, 7, 11, 13, 25), (1, 1, 7, 7, 15, 29, 55), (1, 1, 5, 7, 7, 33, 37), (1, 1, 5, 13, 27, 1, 15),
    (1, 3, 3, 13, 17, 31, 85), (1, 1, 7, 9, 1, 47, 47), (1, 1, 1, 13, 15, 57, 29), (1, 1, 3, 7, 1, 63, 41),
    (1, 1, 7, 13, 17, 49, 57), (1, 1, 5, 1, 29, 17, 9), (1, 1, 1, 11, 27, 43, 27), (1, 1, 7, 7, 23, 47, 37),
    (1, 3, 5, 13, 29, 17, 63), (1, 1, 1, 11, 9, 5, 35), (1, 3, 3, 13, 13, 49, 71),
    (1, 3, 5, 15, 31, 49, 37), (1, 3, 3, 7, 21, 61, 87), (1, 3, 1, 5, 11, 13, 111),
    (1, 1, 5, 15, 11, 27, 101), (1, 1, 1, 1, 27, 19, 55, 235), (1, 1, 1, 5, 21, 35, 109, 113),
    (1, 3, 7, 7, 15, 21, 67, 219),
)  # fmt: skip


def _times(
    left: NDArray[np.int64], right: NDArray[np.int64], modulus: NDArray[np.int64], degree: int
) -> NDArray[np.int64]:
    """Products of polynomials over GF(2), bits as coefficients, each modulo its own polynomial."""
    product = np.zeros_like(modulus)
    for bit in reversed(range(degree)):
        product <<= 1
        product ^= modulus * (product >> degree)
        product ^= left * (right >> bit & 1)
    return product


def _power_of_x(exponent: int, modulus: NDArray[np.int64], degree: int) -> NDArray[np.int64]:
    """The polynomial x**exponent modulo each polynomial, by squaring."""
    power = np.ones_like(modulus)
    for bit in f"{exponent:b}":
        power = _times(power, power, modulus, degree)
        if bit == "1":
            power <<= 1
            power ^= modulus * (power >> degree)
    return power


@cache
def primitive_polynomials(degree: int) -> tuple[int, ...]:
    """All primitive polynomials of a degree over GF(2), ascending; bit i is the coefficient of x**i.

    A polynomial is primitive when x has the order 2**degree - 1 modulo it: the power is one, and no power
    of that order divided by one of its primes is.
    """
    order = 2**degree - 1
    found = np.arange(order + 2, 2 * order + 2, 2, dtype=np.int64)
    found = found[_power_of_x(order, found, degree) == 1]
    rest, prime = order, 2
    while rest > 1:
        if prime * prime > rest:
            prime = rest
        if rest % prime == 0:
            found = found[_power_of_x(order // prime, found, degree) != 1]
            while rest % prime == 0:
                rest //= prime
        prime += 1
    return tuple(found.tolist())


def direction_numbers(polynomial: int, initial: Sequence[Numbers], count: int) -> list[Numbers]:
    """The first `count` direction numbers m_1, m_2, ...: odd, m_i < 2**i (Bratley & Fox 1988)."""
    degree = polynomial.bit_length() - 1
    numbers = list(initial[:count])
    for i in range(degree, count):
        number = numbers[i - degree]
        for back in range(1, degree + 1):
            if polynomial >> (degree - back) & 1:
                number = number ^ (numbers[i - back] << back)
        numbers.append(number)
    return numbers


def polynomial_of(dimension: int) -> int:
    """The primitive polynomial of a dimension from 1 on, by degree and then by value."""
    degree, before = 1, 1
    while dimension - before >= len(primitive_polynomials(degree)):
        before += len(primitive_polynomials(degree))
        degree += 1
    return primitive_polynomials(degree)[dimension - before]


@cache
def _columns(dimension: int) -> NDArray[np.uint64]:
    """The columns of a dimension's generator matrix, first digit in the highest of DIGITS bits."""
    if dimension == 0:
        numbers = [1] * DIGITS
    else:
        polynomial = polynomial_of(dimension)
        if dimension <= len(INITIAL):
            initial = list(INITIAL[dimension - 1])
        else:  # odd numbers of the right length; raw words of PCG64 are the same in every NumPy
            words = np.random.PCG64(dimension).random_raw(polynomial.bit_length() - 1).tolist()
            initial = [word >> (63 - i) | 1 for i, word in enumerate(words)]
        numbers = direction_numbers(polynomial, initial, DIGITS)
    return np.array([number << (DIGITS - 1 - i) for i, number in enumerate(numbers)], dtype=np.uint64)


def sobol(count: int, dimensions: int, seed: int, skip: int = 0) -> NDArray[np.float64]:
    """Points skip, ..., skip + count - 1 of the scrambled Sobol' sequence of a seed: count × dimensions.

    Coordinates lie strictly between 0 and 1. A point depends on its index and the seed alone, and its first
    coordinates are the same whatever the number of dimensions.
    """
    if count < 0 or dimensions < 0 or skip < 0 or skip + count > 2**DIGITS:
        raise ValueError(f"no {count} Sobol' points in {dimensions} dimensions after {skip}")
    if count == 0 or dimensions == 0:
        return np.empty((count, dimensions))
    # Every dimension has words of its own: one for each column of its matrix L, one for its shift.
    words = np.random.PCG64(seed).random_raw(dimensions * (DIGITS + 1)).reshape(dimensions, DIGITS + 1)
    used = np.arange((skip + count - 1).bit_length(), dtype=np.uint64)
    diagonal = np.uint64(1) << (np.uint64(BITS - 1) - used)
    lower = diagonal | words[:, : len(used)] >> (used + np.uint64(65 - BITS))  # random digits below the ones
    plain = np.stack([_columns(dimension)[: len(used)] for dimension in range(dimensions)])
    digits = plain[:, :, None] >> (np.uint64(DIGITS - 1) - used) & np.uint64(1)
    columns = np.bitwise_xor.reduce(digits * lower[:, None, :], axis=2)  # L times the generator matrix

    # An index's low digits give its place in a block of 2**low points, its high digits the block.
    low = (count - 1).bit_length()
    block = np.empty((dimensions, 2**low), dtype=np.uint64)
    block[:, :1] = words[:, DIGITS:] >> np.uint64(64 - BITS)  # the shift
    for digit in range(low):
        block[:, 2**digit : 2 ** (digit + 1)] = block[:, : 2**digit] ^ columns[:, digit, None]
    blocks = []
    for high in range(skip >> low, (skip + count - 1 >> low) + 1):
        chosen = columns[:, low:][:, [bool(high >> digit & 1) for digit in range(len(used) - low)]]
        blocks.append(block ^ np.bitwise_xor.reduce(chosen, axis=1, keepdims=True))
    start = skip & (2**low - 1)
    whole = np.concatenate(blocks, axis=1)[:, start : start + count]
    return np.ascontiguousarray(((whole + 0.5) * 2.0**-BITS).T)
