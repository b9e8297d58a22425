# SQLite with a shared cache, queried by ten concurrent threads with one connection each.
# Packages: python3.11-minimal libpython3.11-stdlib libsqlite3-0
cat > database.py <<'PY'
"""Ten threads insert, look up and sum; every other one closes its connection early."""
import sqlite3
import threading

NAME = "file:orders?mode=memory&cache=shared"
LOCK = threading.Lock()
threading.stack_size(256 * 1024)

def work(number):
    connection = sqlite3.connect(NAME, uri=True, isolation_level=None)
    connection.execute("pragma read_uncommitted = 1")
    state = number
    for turn in range(400 if number % 2 else 800):
        state = (state * 69069 + 12345) % 2**32
        customer, text = state % 500, "x" * (state % 300)
        with LOCK:
            connection.execute("insert into orders values (?, ?, ?)", (customer, turn, text))
            connection.execute(
                "select sum(turn), max(text) from orders where customer between ? and ?",
                (customer, customer + 5),
            ).fetchall()
    connection.close()

keeper = sqlite3.connect(NAME, uri=True)
keeper.execute("create table orders (customer integer, turn integer, text text)")
keeper.execute("create index by_customer on orders (customer)")
threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(keeper.execute("select count(*), sum(length(text)) from orders").fetchone())
PY
export PYTHONMALLOC=malloc PYTHONHASHSEED=0
$RECORD python3.11 database.py > answer
