#include "exact_binding.h"

#include "../../c/columns.h"
#include "exact.h"

#include <time.h>

enum { BUFFERS = 5, PIECES = 2, STARTS = 1, SECTIONS = 1 };
enum { COLUMNS = BUFFERS + PIECES + STARTS + SECTIONS + 1 };
enum { SIZE, PADDED, ALIGNMENT, TWINS, RANK, PIECE_FIRST, PIECE_LAST, STARTING, FAILURES, LOW };

static const double BETWEEN_SIGNALS = 0.02; /* seconds */

/* The state of Python while a search runs without the GIL. */
struct run {
    PyThreadState *state;
    double deadline; /* in seconds of the monotonic clock */
    double next;     /* when signals are handled next */
    PyObject *asked; /* called then: returns whether to go on */
    bool interrupted;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Calls a function; 1 if it returns a true value, 0 if a false one, -1 if it raises. */
static int asked(PyObject *function)
{
    PyObject *answer = PyObject_CallNoArgs(function);
    int truth = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return truth;
}

/* Handles signals now and then; false if the time is over, Ctrl-C was pressed, or the caller wants
 * an end. */
static bool may_go_on(void *context)
{
    struct run *run = context;
    double time = now();
    if (time < run->next)
        return true;
    run->next = time + BETWEEN_SIGNALS;
    PyEval_RestoreThread(run->state);
    int further = PyErr_CheckSignals() == 0 ? asked(run->asked) : -1;
    run->interrupted = further < 0;
    run->state = PyEval_SaveThread();
    return further > 0 && time < run->deadline;
}

static PyObject *searched(struct exact *exact, double seconds, PyObject *asked)
{
    double start = now();
    struct run run = {.deadline = start + seconds, .next = start, .asked = asked};
    exact->goes_on = may_go_on;
    exact->context = &run;
    run.state = PyEval_SaveThread();
    enum outcome outcome = exact_search(exact);
    PyEval_RestoreThread(run.state);
    if (run.interrupted)
        return NULL;
    if (outcome == NO_MEMORY)
        return PyErr_NoMemory();
    return Py_BuildValue("iK", (int)outcome, (unsigned long long)exact->nodes);
}

/* Returns whether the pieces are in order and within the sections; sets an exception if not. */
static bool are_valid(const struct exact_buffers *all, Py_ssize_t pieces)
{
    bool valid = all->pieces[0] == 0 && all->pieces[all->count] == (size_t)pieces;
    for (uint32_t buffer = 0; buffer < all->count && valid; buffer++)
        valid = all->pieces[buffer] < all->pieces[buffer + 1] && all->size[buffer] > 0 &&
                all->alignment[buffer] > 0;
    for (Py_ssize_t piece = 0; piece < pieces && valid; piece++)
        valid = all->piece_first[piece] < all->piece_last[piece] &&
                all->piece_last[piece] <= all->sections;
    if (!valid)
        PyErr_SetString(PyExc_ValueError, "the pieces are not those of the buffers");
    return valid;
}

PyObject *search_exact(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "", "", "", "", "", "", "", "", "", "",
                            "capacity", "nodes", "seconds", NULL};
    struct column columns[COLUMNS] = {
        [SIZE] = {.name = "size", .width = 8},
        [PADDED] = {.name = "padded", .width = 8},
        [ALIGNMENT] = {.name = "alignment", .width = 8},
        [TWINS] = {.name = "twins", .width = 4},
        [RANK] = {.name = "rank", .width = 4},
        [PIECE_FIRST] = {.name = "piece_first", .width = 4},
        [PIECE_LAST] = {.name = "piece_last", .width = 4},
        [STARTING] = {.name = "pieces", .width = 4},
        [FAILURES] = {.name = "failures", .width = 8, .writable = true},
        [LOW] = {.name = "low", .width = 8, .writable = true},
    };
    PyObject *given[COLUMNS], *goes_on, *answer = NULL;
    Py_ssize_t count, pieces, starts, sections, lows;
    long long capacity;
    unsigned long long nodes;
    double seconds;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "OOOOOOOOOOO$LKd", names, &given[SIZE], &given[PADDED],
            &given[ALIGNMENT], &given[TWINS], &given[RANK], &given[PIECE_FIRST],
            &given[PIECE_LAST], &given[STARTING], &given[FAILURES], &given[LOW], &goes_on,
            &capacity, &nodes, &seconds))
        return NULL;
    if (!columns_hold_two(columns, given, BUFFERS, BUFFERS + PIECES, &count, &pieces))
        return NULL;
    if (columns_hold(&columns[STARTING], &given[STARTING], 1, &starts)) {
        if (columns_hold(&columns[FAILURES], &given[FAILURES], 1, &sections)) {
            if (columns_hold(&columns[LOW], &given[LOW], 1, &lows)) {
                struct exact exact = {
                    .buffers = {.count = (uint32_t)count,
                                .sections = (uint32_t)sections,
                                .size = columns[SIZE].view.buf,
                                .padded = columns[PADDED].view.buf,
                                .alignment = columns[ALIGNMENT].view.buf,
                                .pieces = columns[STARTING].view.buf,
                                .piece_first = columns[PIECE_FIRST].view.buf,
                                .piece_last = columns[PIECE_LAST].view.buf,
                                .twins = columns[TWINS].view.buf,
                                .rank = columns[RANK].view.buf},
                    .capacity = capacity,
                    .limit = nodes,
                    .low = columns[LOW].view.buf,
                    .failures = columns[FAILURES].view.buf,
                };
                if (lows != count || starts != count + 1)
                    PyErr_SetString(PyExc_ValueError, "low and pieces are not those of buffers");
                else if (are_valid(&exact.buffers, pieces))
                    answer = searched(&exact, seconds, goes_on);
                columns_release(&columns[LOW], 1);
            }
            columns_release(&columns[FAILURES], 1);
        }
        columns_release(&columns[STARTING], 1);
    }
    columns_release(columns, BUFFERS + PIECES);
    return answer;
}
