"""The order in which a long program works out its values, so that few of them wait in memory for a register."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence


def compact_order(needed: Mapping[int, Sequence[int]]) -> list[int]:
    """Values after all that they need, first those that are the last to need others, the most recent of them first.

    `needed` are the values that each one needs; what has no entry is always there.

    >>> compact_order({1: (0,), 2: (0,), 3: (1,), 4: (2,), 5: (3, 4)})
    [1, 3, 2, 4, 5]
    """
    arguments = {y: [a for a in dict.fromkeys(places) if a in needed] for y, places in needed.items()}
    waiting = {y: len(places) for y, places in arguments.items()}
    users: dict[int, list[int]] = defaultdict(list)
    for y, places in arguments.items():
        for a in places:
            users[a].append(y)
    left = {a: len(each) for a, each in users.items()}
    piles: dict[int, list[int]] = defaultdict(list)  # what could come next, by the registers that it sets free
    order: list[int] = []

    def freed(y: int) -> int:
        return sum(left[a] == 1 for a in arguments[y]) - (y in left)

    def is_outdated(y: int, count: int) -> bool:
        return waiting[y] < 0 or freed(y) != count

    for y in reversed(arguments):
        if not waiting[y]:
            piles[freed(y)].append(y)
    while len(order) < len(arguments):
        for count in sorted(piles, reverse=True):
            while piles[count] and is_outdated(piles[count][-1], count):
                piles[count].pop()
        y = piles[max(count for count, pile in piles.items() if pile)].pop()
        order.append(y)
        waiting[y] = -1
        ready: list[int] = []
        for a in arguments[y]:
            left[a] -= 1
            if left[a] == 1:
                ready += [user for user in users[a] if waiting[user] == 0]
        for user in users[y] if y in left else ():
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
        for each in ready:
            piles[freed(each)].append(each)
    return order
