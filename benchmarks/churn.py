"""A Python program that does little except create and drop objects: `churn.py OBJECTS`.

Each object is allocated three calls deep. Prints the processor time in seconds.
"""

import sys
import time

kept: list[object] = [None] * 1000


def make(number: int) -> object:
    """Make an object whose bytes are in a separate block."""
    return bytearray(520 + number % 7 * 100)


def keep(number: int) -> None:
    """Replace a kept object by a new object."""
    kept[number * 7919 % len(kept)] = make(number)


start = time.process_time()
for each in range(int(sys.argv[1])):
    keep(each)
print(time.process_time() - start)
