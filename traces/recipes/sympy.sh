# SymPy computing the reduced Groebner basis of the cyclic roots of order 4 and of Katsura 4.
# Packages: python3-sympy python3-minimal
cat > basis.py <<'PYTHON'
from math import prod

from sympy import groebner, symbols


def cyclic(n):
    x = symbols(f"x:{n}")
    cycle = lambda start, length: prod(x[(start + i) % n] for i in range(length))
    sums = [sum(cycle(start, length) for start in range(n)) for length in range(1, n)]
    return [*sums, prod(x) - 1], x


def katsura(n):
    u = symbols(f"u:{n + 1}")
    at = lambda i: u[abs(i)] if abs(i) <= n else 0
    sums = [sum(at(i) * at(m - i) for i in range(-n, n + 1)) - at(m) for m in range(n)]
    return [sum(at(i) for i in range(-n, n + 1)) - 1, *sums], u


for polynomials, variables in (cyclic(4), katsura(4)):
    print(groebner(polynomials, *variables, order="grevlex"))
PYTHON
PYTHONMALLOC=malloc PYTHONHASHSEED=0 $RECORD /usr/bin/python3 -B basis.py > basis
