"""`python -m notebooks [NAME...]`: execute notebooks and keep their outputs."""

from __future__ import annotations

import sys

from notebooks.execute import executed, notebooks, write

for path in notebooks():
    if not sys.argv[1:] or any(path.name.startswith(name) for name in sys.argv[1:]):
        print(path.name)
        write(executed(path), path)
