"""`python -m notebooks [NAME...]`: execute the notebooks and store their outputs.

NAME is the beginning of a file name, such as 3-; without a name, all notebooks are executed.
"""

from __future__ import annotations

import sys

from notebooks.execute import executed, notebooks, write

for path in notebooks():
    if not sys.argv[1:] or any(path.name.startswith(name) for name in sys.argv[1:]):
        print(path.name)
        write(executed(path), path)
