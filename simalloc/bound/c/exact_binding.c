#include "exact_binding.h"

#include "../../c/columns.h"
#include "exact.h"

#include <time.h>

/* Columns in order. All columns of a group have one length. */
enum { SIZE, ALIGNMENT, TWINS, RANK, LOW, BUFFERS_END };
enum { PIECE_FIRST = BUFFERS_END, PIECE_LAST, PIECE_LOW, ROOM, PADDING, PIECES_END };
enum { BAN_OTHER = PIECES_END, UNDER, OVER, BANS_END };
enum { PIECES = BANS_END, BANS, STARTS_END };
enum { FAILURES = STARTS_END, COLUMNS };

static const int GROUPS[] = {BUFFERS_END, PIECES_END, BANS_END, STARTS_END, COLUMNS};
enum { OF_BUFFERS, OF_PIECES, OF_BANS, OF_STARTS, OF_SECTIONS, GROUP_COUNT };

static const double BETWEEN_SIGNALS = 0.02; /* seconds */

/* State of Python while a search runs without the GIL. */
struct run {
    PyThreadState *state;
    double deadline; /* seconds of the monotonic clock */
    double next;     /* next time at which signals are handled, in seconds of the monotonic clock */
    /* function called when signals are handled; returns whether the search continues */
    PyObject *asked;
    bool interrupted;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Calls a function. Returns 1 for a true result, 0 for a false result and -1 for an exception. */
static int asked(PyObject *function)
{
    PyObject *answer = PyObject_CallNoArgs(function);
    int truth = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return truth;
}

/* Handles signals at intervals. Returns false if the time is up, Ctrl-C was pressed, or the caller
 * ends the search. */
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

/* Returns whether list starts ascend from 0 to `length`, the length of the divided array. */
static bool divide(const uint32_t *start, uint32_t count, Py_ssize_t length)
{
    bool valid = start[0] == 0 && start[count] == (size_t)length;
    for (uint32_t i = 0; i < count && valid; i++)
        valid = start[i] <= start[i + 1];
    return valid;
}

/* Returns whether pieces and bans are valid. Sets an exception if they are not. */
static bool are_valid(const struct exact_buffers *all, Py_ssize_t bans)
{
    bool valid = divide(all->pieces, all->count, all->all_pieces) &&
                 divide(all->bans, all->count, bans);
    for (uint32_t buffer = 0; buffer < all->count && valid; buffer++)
        valid = all->pieces[buffer] < all->pieces[buffer + 1] && all->size[buffer] > 0 &&
                all->alignment[buffer] > 0;
    for (uint32_t piece = 0; piece < all->all_pieces && valid; piece++)
        valid = all->piece_first[piece] < all->piece_last[piece] &&
                all->piece_last[piece] <= all->sections;
    for (Py_ssize_t ban = 0; ban < bans && valid; ban++)
        valid = all->ban_other[ban] < all->count && all->under[ban] < all->over[ban];
    if (!valid)
        PyErr_SetString(PyExc_ValueError, "the pieces or bans do not match the buffers");
    return valid;
}

/* Gets the buffers of all columns, group by group. Returns false, with an exception set, on
 * failure. */
static bool hold(struct column *columns, PyObject *tuple, Py_ssize_t lengths[GROUP_COUNT])
{
    PyObject *given[COLUMNS];
    int begin = 0;
    if (PyTuple_Size(tuple) != COLUMNS) {
        PyErr_SetString(PyExc_ValueError, "wrong number of columns for a search");
        return false;
    }
    for (int i = 0; i < COLUMNS; i++)
        given[i] = PyTuple_GetItem(tuple, i);
    for (int group = 0; group < GROUP_COUNT; begin = GROUPS[group++]) {
        size_t count = (size_t)(GROUPS[group] - begin);
        if (!columns_hold(&columns[begin], &given[begin], count, &lengths[group])) {
            columns_release(columns, (size_t)begin);
            return false;
        }
    }
    if (lengths[OF_STARTS] == lengths[OF_BUFFERS] + 1)
        return true;
    columns_release(columns, COLUMNS);
    PyErr_SetString(PyExc_ValueError, "the columns pieces and bans need one item more than "
                                      "the columns of buffers");
    return false;
}

PyObject *search_exact(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "", "capacity", "step", "nodes", "seconds", NULL};
    struct column columns[COLUMNS] = {
        [SIZE] = {.name = "size", .width = 8},
        [ALIGNMENT] = {.name = "alignment", .width = 8},
        [TWINS] = {.name = "twins", .width = 4},
        [RANK] = {.name = "rank", .width = 4},
        [LOW] = {.name = "low", .width = 8, .writable = true},
        [PIECE_FIRST] = {.name = "piece_first", .width = 4},
        [PIECE_LAST] = {.name = "piece_last", .width = 4},
        [PIECE_LOW] = {.name = "piece_low", .width = 8},
        [ROOM] = {.name = "room", .width = 8},
        [PADDING] = {.name = "padding", .width = 8},
        [BAN_OTHER] = {.name = "ban_other", .width = 4},
        [UNDER] = {.name = "under", .width = 8},
        [OVER] = {.name = "over", .width = 8},
        [PIECES] = {.name = "pieces", .width = 4},
        [BANS] = {.name = "bans", .width = 4},
        [FAILURES] = {.name = "failures", .width = 8, .writable = true},
    };
    PyObject *tuple, *goes_on, *answer = NULL;
    Py_ssize_t lengths[GROUP_COUNT];
    long long capacity, step;
    unsigned long long nodes;
    double seconds;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O$LLKd", names, &PyTuple_Type, &tuple,
                                     &goes_on, &capacity, &step, &nodes, &seconds) ||
        !hold(columns, tuple, lengths))
        return NULL;
    struct exact exact = {
        .buffers = {.count = (uint32_t)lengths[OF_BUFFERS],
                    .sections = (uint32_t)lengths[OF_SECTIONS],
                    .all_pieces = (uint32_t)lengths[OF_PIECES],
                    .size = columns[SIZE].view.buf,
                    .alignment = columns[ALIGNMENT].view.buf,
                    .pieces = columns[PIECES].view.buf,
                    .piece_first = columns[PIECE_FIRST].view.buf,
                    .piece_last = columns[PIECE_LAST].view.buf,
                    .piece_low = columns[PIECE_LOW].view.buf,
                    .room = columns[ROOM].view.buf,
                    .padding = columns[PADDING].view.buf,
                    .twins = columns[TWINS].view.buf,
                    .rank = columns[RANK].view.buf,
                    .bans = columns[BANS].view.buf,
                    .ban_other = columns[BAN_OTHER].view.buf,
                    .under = columns[UNDER].view.buf,
                    .over = columns[OVER].view.buf,
                    .step = step},
        .capacity = capacity,
        .limit = nodes,
        .low = columns[LOW].view.buf,
        .failures = columns[FAILURES].view.buf,
    };
    if (are_valid(&exact.buffers, lengths[OF_BANS]))
        answer = searched(&exact, seconds, goes_on);
    columns_release(columns, COLUMNS);
    return answer;
}
