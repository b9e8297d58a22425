# Python parsing its library into syntax trees and writing them out as text again.
# Packages: python3.11-minimal libpython3.11-minimal libpython3.11-stdlib
cat > unparse.py <<'PYTHON'
import ast
from pathlib import Path

trees = {}
for path in sorted(Path("/usr/lib/python3.11").glob("*.py"))[:60]:
    trees[path.name] = ast.parse(path.read_text("utf-8"))
for name, tree in trees.items():
    print(name, len(ast.unparse(tree)))
PYTHON
PYTHONMALLOC=malloc PYTHONHASHSEED=0 $RECORD /usr/bin/python3.11 -B unparse.py > lengths
