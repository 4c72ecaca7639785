#!/usr/bin/env python3
"""The diagnostics of some fixed chains, by plain formulas, for tests/diagnostics.

    summary.py             prints reference/summary_values.hpp
    summary.py draws NAME  prints the draws of one case, a chain a line, for other programs

Written from Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021) and Margossian et al. (2024),
with nothing but the standard library and nothing shared with the C++ code: sums by math.fsum,
autocovariances as double loops, normal and Beta quantiles by bisection.
"""
import math
import sys

# ---- draws that C++ computes to the same bits: integers, and single roundings


class Numbers:
    def __init__(self, seed):
        self.state = seed

    def integer(self):  # 32 bits
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return self.state >> 32

    def uniform(self):
        return self.integer() / 2**32

    def bell(self):  # nearly normal: twelve uniform numbers less 6, exact
        return sum(self.integer() for _ in range(12)) / 2**32 - 6


def walk(phi, chains, length, seed):
    draws = []
    for chain in range(chains):
        numbers = Numbers(seed + chain)
        path = [numbers.bell()]
        while len(path) < length:
            path.append(phi * path[-1] + numbers.bell())
        draws.append(path)
    return draws


def each(draws, f):
    return [[f(chain, t, x) for t, x in enumerate(path)] for chain, path in enumerate(draws)]


def cases():
    iid = lambda chains, length, seed: walk(0.0, chains, length, seed)
    pairs = iid(4, 2000, 60)
    return {
        "independent": iid(4, 1000, 10),
        "correlated": walk(0.95, 4, 1000, 20),
        "slow": walk(0.998, 2, 3000, 30),
        "anticorrelated": walk(-0.75, 4, 1000, 40),
        "one_elsewhere": each(iid(4, 500, 50), lambda c, t, x: x + 2 if c == 0 else x),
        "one_wider": each(iid(4, 500, 55), lambda c, t, x: x * 3 if c == 3 else x),
        "heavy_tails": [[p[2 * t] / p[2 * t + 1] for t in range(1000)] for p in pairs],
        "drifting": each(iid(3, 400, 70), lambda c, t, x: x + t / 256),
        "discrete": each(walk(0.5, 4, 300, 80), lambda c, t, x: float(math.floor(2 * x))),
        "binary": each(walk(0.5, 4, 300, 85), lambda c, t, x: 1.0 if x > 0.25 else 0.0),
        "odd_length": walk(0.5, 3, 501, 90),
        "one_chain": walk(0.3, 1, 200, 100),
        "far_away": each(walk(0.6, 2, 300, 110), lambda c, t, x: x + 2.0**26),
        "twelve_draws": iid(6, 12, 115),
        "seven_draws": iid(5, 7, 120),
        "six_draws": iid(4, 6, 130),
        "four_draws": iid(4, 4, 140),
    }


# ---- quantile functions


def bisect(f, low, high):
    for _ in range(200):
        middle = (low + high) / 2
        if f(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def normal_quantile(p):
    if p > 0.5:
        return -normal_quantile(1 - p)
    return bisect(lambda z: math.erfc(-z / math.sqrt(2)) / 2 - p, -40.0, 1.0)


def incomplete_beta(a, b, x):
    """I_x(a, b) by its power series, which converges everywhere; all terms are positive."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = a * math.log(x) + b * math.log1p(-x) - math.log(a)
    front += math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    term, total, n = 1.0, 1.0, 0
    while term > 1e-18 * total:
        term *= (a + b + n) * x / (a + 1 + n)
        total += term
        n += 1
    return math.exp(front) * total


def beta_quantile(p, a, b):
    return bisect(lambda x: incomplete_beta(a, b, x) - p, 0.0, 1.0)


def quantile(values, p):
    ordered = sorted(values)
    at = (len(ordered) - 1) * p
    if abs(at - round(at)) < 1e-9:
        return ordered[round(at)]
    low = math.floor(at)
    if at - low == 0.5:
        return (ordered[low] + ordered[low + 1]) / 2
    return ordered[low] * (low + 1 - at) + ordered[low + 1] * (at - low)


# ---- the paper's formulas


def mean(values):
    return math.fsum(values) / len(values)


def variance(values):
    m = mean(values)
    return math.fsum((v - m) ** 2 for v in values) / (len(values) - 1)


def halves(draws):
    result = []
    for path in draws:
        n = len(path) // 2
        result += [path[:n], path[-n:]]
    return result


def pooled(draws):
    return [x for path in draws for x in path]


def scores(draws):
    ordered = sorted(pooled(draws))
    places = {}
    for place, value in enumerate(ordered, 1):
        places.setdefault(value, []).append(place)
    z = {
        value: normal_quantile((mean(where) - 3 / 8) / (len(ordered) + 1 / 4))
        for value, where in places.items()
    }
    return [[z[x] for x in path] for path in draws]


def variances(parts):
    n = len(parts[0])
    within = mean([variance(path) for path in parts])
    return within, (n - 1) / n * within + variance([mean(path) for path in parts])


def rhat(parts):
    within, total = variances(parts)
    if total == 0:
        return math.nan
    return math.sqrt(total / within) if within > 0 else math.inf


def ess(parts):
    n, m = len(parts[0]), len(parts)
    within, total = variances(parts)
    if total == 0 or n < 3:
        return math.nan
    centred = []
    for path in parts:
        centre = mean(path)
        centred.append([x - centre for x in path])

    def rho(lag):
        if lag == 0:
            return 1.0
        sums = [math.fsum(a * b for a, b in zip(path, path[lag:])) / n for path in centred]
        return 1 - (within - mean(sums)) / total

    pairs = []
    for k in range(max(n // 2 - 2, 1)):
        pair = rho(2 * k) + rho(2 * k + 1)
        if pair <= 0:
            break
        pairs.append(pair)
    last = max(rho(2 * len(pairs)), 0.0)
    for k in range(1, len(pairs)):
        pairs[k] = min(pairs[k], pairs[k - 1])
    tau = -1 + 2 * math.fsum(pairs) + last
    return m * n / max(tau, 1 / math.log10(m * n))


def quantile_ess(draws, p):
    q = quantile(pooled(draws), p)
    return ess(halves(each(draws, lambda c, t, x: float(x <= q))))


def quantile_error(draws, p):
    size = quantile_ess(draws, p)
    if math.isnan(size):
        return size
    ordered = sorted(pooled(draws))
    one = math.erfc(1 / math.sqrt(2)) / 2
    a, b, n = size * p + 1, size * (1 - p) + 1, len(ordered)
    low = max(math.floor(beta_quantile(one, a, b) * n), 1)
    high = min(math.ceil(beta_quantile(1 - one, a, b) * n), n)
    return (ordered[high - 1] - ordered[low - 1]) / 2


def sd_error(draws):
    values = pooled(draws)
    centre = mean(values)
    second = mean([(x - centre) ** 2 for x in values])
    fourth = mean([(x - centre) ** 4 for x in values])
    size = ess(halves(each(draws, lambda c, t, x: (x - centre) ** 2)))
    return math.sqrt((fourth - second**2) / size / (4 * second))


def summary(draws):
    values = pooled(draws)
    median = quantile(values, 0.5)
    folded = each(draws, lambda c, t, x: abs(x - median))
    spread = math.sqrt(variance(values))
    probabilities = (0.05, 0.5, 0.95)
    tails = [quantile_ess(draws, 0.05), quantile_ess(draws, 0.95)]
    agreement = [rhat(scores(halves(draws))), rhat(scores(halves(folded)))]
    return (
        [mean(values), spread, spread / math.sqrt(ess(halves(draws))), sd_error(draws)]
        + [quantile(values, p) for p in probabilities]
        + [quantile_error(draws, p) for p in probabilities]
        + [max(r for r in agreement if not math.isnan(r)), ess(scores(halves(draws)))]
        + [math.nan if any(math.isnan(size) for size in tails) else min(tails)]
    )


def nested_rhat(draws, superchains):
    m = len(draws) // superchains
    spread = lambda values: variance(values) if len(values) > 1 else 0.0
    groups = [draws[k * m : (k + 1) * m] for k in range(superchains)]
    between = variance([mean(pooled(group)) for group in groups])
    within = mean([spread([mean(c) for c in g]) + mean([spread(c) for c in g]) for g in groups])
    return math.sqrt(1 + between / within)


def autocorrelation(draws, lag):
    above = below = 0.0
    for path in draws:
        centre = mean(path)
        z = [x - centre for x in path]
        above += math.fsum(a * b for a, b in zip(z, z[lag:]))
        below += math.fsum(a * a for a in z)
    return above / below


# ---- the header


def number(value):
    return "none" if math.isnan(value) else repr(value)


def row(values):
    return ", ".join(number(v) for v in values)


def main():
    found = cases()
    if sys.argv[1:2] == ["draws"]:
        for path in found[sys.argv[2]]:
            print(",".join(repr(x) for x in path))
        return
    print("// Printed by summary.py, which says how they are found.")
    print("#pragma once\n\n#include <array>\n#include <limits>\n#include <string_view>\n")
    print("namespace whorl::testing::summary_values {\n")
    print("// clang-format off")
    print("inline constexpr double none = std::numeric_limits<double>::quiet_NaN();\n")
    print("// mean, sd, mcse, mcse_sd; quantiles; their errors; rhat, ess_bulk, ess_tail")
    print("struct Row { std::string_view name; std::array<double, 13> values; };")
    print(f"inline constexpr std::array<Row, {len(found)}> rows{{{{")
    for name, draws in found.items():
        values = summary(draws)
        print(f'    {{"{name}", {{{row(values[:4])},')
        print(f"      {row(values[4:7])},\n      {row(values[7:10])},\n      {row(values[10:])}}}}},")
    print("}};\n")
    print("// Of `independent` and `one_elsewhere`, 4 chains, with 2 and 4 superchains, of all draws and")
    print("// the first alone.")
    nested = []
    for name in ("independent", "one_elsewhere"):
        first = [path[:1] for path in found[name]]
        nested += [nested_rhat(found[name], 2), nested_rhat(found[name], 4), nested_rhat(first, 2)]
    print(f"inline constexpr std::array<double, 6> nested{{\n    {row(nested[:3])},\n    {row(nested[3:])}}};\n")
    print("// Of `slow`, at the lags 1, 10, 100, 1000.")
    lags = [autocorrelation(found["slow"], lag) for lag in (1, 10, 100, 1000)]
    print(f"inline constexpr std::array<double, 4> correlations{{\n    {row(lags[:2])},\n    {row(lags[2:])}}};")
    print("// clang-format on\n")
    print("}  // namespace whorl::testing::summary_values")


main()
