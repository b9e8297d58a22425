/* Python module simalloc.bound._c: offline placements. */
#define PY_SSIZE_T_CLEAN
#include "../../c/columns.h"
#include "exact_binding.h"
#include "ordered.h"
#include "outward.h"
#include "tiers.h"
#include "verify.h"

#include <string.h>

enum { EVENT_COLUMNS = 2, LIFE_COLUMNS = 4, LIVES_COLUMNS = EVENT_COLUMNS + LIFE_COLUMNS };
/* Number of events between two checks for Ctrl-C, about ten milliseconds. */
enum { STRIDE = 1 << 18 };

/* Lives of a trace, with the Python arrays that contain them. */
struct held_lives {
    struct column columns[LIVES_COLUMNS];
    struct lives lives;
};

/* Gets the buffers of Timetable.columns, as a converter of PyArg_ParseTuple. Releases them if
 * `given` is NULL. Sets an exception on failure. */
static int lives_hold(PyObject *given, void *into)
{
    struct held_lives *held = into;
    const struct column columns[LIVES_COLUMNS] = {
        {.name = "begins", .width = 4}, {.name = "ends", .width = 4},
        {.name = "size", .width = 8},   {.name = "slot", .width = 4},
        {.name = "born", .width = 8},   {.name = "died", .width = 8},
    };
    PyObject *arrays[LIVES_COLUMNS];
    unsigned int slots;
    Py_ssize_t events, count;
    if (given == NULL) {
        columns_release(held->columns, LIVES_COLUMNS);
        return 1;
    }
    memcpy(held->columns, columns, sizeof columns);
    if (!PyArg_ParseTuple(given, "OOOOOOI", &arrays[0], &arrays[1], &arrays[2], &arrays[3],
                          &arrays[4], &arrays[5], &slots) ||
        !columns_hold_two(held->columns, arrays, EVENT_COLUMNS, LIVES_COLUMNS, &events, &count))
        return 0;
    held->lives = (struct lives){
        .events = (size_t)events,
        .begins = held->columns[0].view.buf,
        .ends = held->columns[1].view.buf,
        .count = (size_t)count,
        .size = held->columns[2].view.buf,
        .slot = held->columns[3].view.buf,
        .born = held->columns[4].view.buf,
        .died = held->columns[5].view.buf,
        .slots = slots,
    };
    return Py_CLEANUP_SUPPORTED;
}

/* Gets the buffers of columns with `items` items each. Returns false, with an exception set, on
 * failure. */
static bool hold(struct column *columns, PyObject *const *given, size_t count, size_t items)
{
    Py_ssize_t length;
    if (!columns_hold(columns, given, count, &length))
        return false;
    if ((size_t)length == items)
        return true;
    PyErr_Format(PyExc_ValueError,
                 "column %s: %zd items instead of %zu", columns[0].name, length, items);
    columns_release(columns, count);
    return false;
}

/* State of a computation after a stride. */
enum stride { GOES_ON, ENDED, OUT_OF_MEMORY };
typedef enum stride stride_function(void *work);

/* Continues a computation until its end or Ctrl-C, with the GIL released. `begun` is false if its
 * start ran out of memory. Returns false, with an exception set, if the computation was interrupted
 * or ran out of memory. */
static bool go_through(bool begun, stride_function *advance, void *work)
{
    enum stride stride = begun ? GOES_ON : OUT_OF_MEMORY;
    while (stride == GOES_ON && PyErr_CheckSignals() == 0) {
        Py_BEGIN_ALLOW_THREADS
        stride = advance(work);
        Py_END_ALLOW_THREADS
    }
    if (stride == OUT_OF_MEMORY)
        PyErr_NoMemory();
    return stride == ENDED;
}

static enum stride advance_outward(void *work)
{
    struct outward *outward = work;
    if (!outward_advance(outward, STRIDE))
        return OUT_OF_MEMORY;
    return outward->ended ? ENDED : GOES_ON;
}

static enum stride advance_tiers(void *work)
{
    struct tiers *tiers = work;
    if (!tiers_advance(tiers, STRIDE))
        return OUT_OF_MEMORY;
    return tiers->ended ? ENDED : GOES_ON;
}

static enum stride advance_ordered(void *work)
{
    struct ordered *ordered = work;
    size_t lives = ordered->lives->count;
    /* Each life examines all lives before it. */
    ordered_advance(ordered, 1 + STRIDE / (ordered->placed + 1));
    return ordered->placed == lives ? ENDED : GOES_ON;
}

static enum stride advance_sweep(void *work)
{
    struct sweep *sweep = work;
    sweep_advance(sweep, STRIDE);
    return sweep->done == sweep->lives->events || sweep->overlapped != NONE ? ENDED : GOES_ON;
}

/* Returns the height, or None if it has reached the limit, and the number of processed events. */
static PyObject *height_and_done(uint64_t height, uint64_t limit, size_t done)
{
    if (height >= limit)
        return Py_BuildValue("On", Py_None, (Py_ssize_t)done);
    return Py_BuildValue("Kn", (unsigned long long)height, (Py_ssize_t)done);
}

static PyObject *go_outward(struct outward *outward, const struct column *order)
{
    bool begun;
    Py_BEGIN_ALLOW_THREADS
    begun = outward_begin(outward, order->view.buf, (size_t)(order->view.len / order->width));
    Py_END_ALLOW_THREADS
    bool done = go_through(begun, advance_outward, outward);
    outward_end(outward);
    return done ? height_and_done(outward->height, outward->limit, outward->done) : NULL;
}

static PyObject *place_outward(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "", "", "backward", "fit", "max_gaps", "start", "limit", NULL};
    PyObject *given_order, *given_address;
    unsigned int max_gaps;
    int backward, fit;
    Py_ssize_t start, packed;
    unsigned long long limit;
    struct held_lives held;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&OO$piInK", names, lives_hold, &held,
                                     &given_order, &given_address, &backward, &fit, &max_gaps,
                                     &start, &limit))
        return NULL;
    struct column order = {.name = "order", .width = 4};
    struct column address = {.name = "address", .width = 8, .writable = true};
    PyObject *answer = NULL;
    if (columns_hold(&order, &given_order, 1, &packed)) {
        if (hold(&address, &given_address, 1, held.lives.count)) {
            struct outward outward = {
                .lives = &held.lives,
                .backward = backward,
                .fit = (enum fit)fit,
                .max_gaps = max_gaps,
                .limit = limit,
                .start = (size_t)start,
                .address = address.view.buf,
            };
            answer = go_outward(&outward, &order);
            columns_release(&address, 1);
        }
        columns_release(&order, 1);
    }
    lives_hold(NULL, &held);
    return answer;
}

static PyObject *go_by_tiers(struct tiers *tiers)
{
    bool begun;
    Py_BEGIN_ALLOW_THREADS
    begun = tiers_begin(tiers);
    Py_END_ALLOW_THREADS
    bool done = go_through(begun, advance_tiers, tiers);
    tiers_end(tiers);
    return done ? height_and_done(tiers->height, tiers->limit, tiers->done) : NULL;
}

static PyObject *place_in_tiers(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "", "", "tiers", "limit", NULL};
    PyObject *given_lives[2];
    unsigned int count;
    unsigned long long limit;
    struct held_lives held;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&OO$IK", names, lives_hold, &held,
                                     &given_lives[0], &given_lives[1], &count, &limit))
        return NULL;
    struct column columns[] = {{.name = "tier", .width = 4},
                               {.name = "address", .width = 8, .writable = true}};
    PyObject *answer = NULL;
    if (hold(columns, given_lives, 2, held.lives.count)) {
        struct tiers tiers = {
            .lives = &held.lives,
            .tier = columns[0].view.buf,
            .tiers = count,
            .limit = limit,
            .address = columns[1].view.buf,
        };
        answer = go_by_tiers(&tiers);
        columns_release(columns, 2);
    }
    lives_hold(NULL, &held);
    return answer;
}

static PyObject *place_in_order(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "", "", "smallest", NULL};
    PyObject *given_lives[2];
    int smallest;
    struct held_lives held;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&OO$p", names, lives_hold, &held,
                                     &given_lives[0], &given_lives[1], &smallest))
        return NULL;
    struct column columns[] = {{.name = "order", .width = 4},
                               {.name = "address", .width = 8, .writable = true}};
    bool done = false;
    if (hold(columns, given_lives, 2, held.lives.count)) {
        struct ordered ordered = {
            .lives = &held.lives,
            .order = columns[0].view.buf,
            .smallest = smallest,
            .address = columns[1].view.buf,
        };
        done = go_through(ordered_begin(&ordered), advance_ordered, &ordered);
        ordered_end(&ordered);
        columns_release(columns, 2);
    }
    lives_hold(NULL, &held);
    if (!done)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *figures_of(const struct sweep *sweep)
{
    if (sweep->overlapped != NONE)
        return Py_BuildValue("{s:I,s:I}", "overlapped", sweep->overlapped, "overlaps",
                             sweep->overlaps);
    return Py_BuildValue("{s:K,s:K,s:K}", "growths", (unsigned long long)sweep->growths, "splits",
                         (unsigned long long)sweep->splits, "coalescings",
                         (unsigned long long)sweep->coalescings);
}

static PyObject *go_in_time(struct sweep *sweep)
{
    bool begun;
    Py_BEGIN_ALLOW_THREADS
    begun = sweep_begin(sweep);
    Py_END_ALLOW_THREADS
    bool done = go_through(begun, advance_sweep, sweep);
    sweep_end(sweep);
    return done ? figures_of(sweep) : NULL;
}

static PyObject *sweep_through(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "", "", "", "", "ranks", NULL};
    PyObject *given_lives[2], *given_events[2];
    unsigned int ranks;
    struct held_lives held;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&OOOO$I", names, lives_hold, &held,
                                     &given_lives[0], &given_lives[1], &given_events[0],
                                     &given_events[1], &ranks))
        return NULL;
    struct column placement[] = {{.name = "address", .width = 8}, {.name = "rank", .width = 4}};
    struct column states[] = {{.name = "heap", .width = 8, .writable = true},
                              {.name = "free_blocks", .width = 8, .writable = true}};
    PyObject *answer = NULL;
    if (hold(placement, given_lives, 2, held.lives.count)) {
        if (hold(states, given_events, 2, held.lives.events)) {
            struct sweep sweep = {
                .lives = &held.lives,
                .address = placement[0].view.buf,
                .rank = placement[1].view.buf,
                .ranks = ranks,
                .heap = states[0].view.buf,
                .free_blocks = states[1].view.buf,
            };
            answer = go_in_time(&sweep);
            columns_release(states, 2);
        }
        columns_release(placement, 2);
    }
    lives_hold(NULL, &held);
    return answer;
}

static PyMethodDef methods[] = {
    {"place_outward", (PyCFunction)(void (*)(void))place_outward, METH_VARARGS | METH_KEYWORDS,
     "place_outward(lives, order, address, *, backward, fit, max_gaps, start, limit)\n--\n\n"
     "Place lives outward from event `start`, forward or backward in time, within `limit` bytes.\n\n"
     "Return the height, or None if it has reached the limit, and the number of processed events."},
    {"place_in_tiers", (PyCFunction)(void (*)(void))place_in_tiers, METH_VARARGS | METH_KEYWORDS,
     "place_in_tiers(lives, tier, address, *, tiers, limit)\n--\n\n"
     "Place lives tier by tier, within `limit` bytes.\n\n"
     "Return the height, or None if it has reached the limit, and the number of processed births\n"
     "and deaths."},
    {"place_in_order", (PyCFunction)(void (*)(void))place_in_order, METH_VARARGS | METH_KEYWORDS,
     "place_in_order(lives, order, address, *, smallest)\n--\n\n"
     "Place lives in an order, each in the lowest or the smallest gap between the earlier lives."},
    {"sweep_through", (PyCFunction)(void (*)(void))sweep_through, METH_VARARGS | METH_KEYWORDS,
     "sweep_through(lives, address, rank, heap, free_blocks, *, ranks)\n--\n\n"
     "Verify a placement. Return a dict of its counters, or of two lives that overlap."},
    {"search_exact", (PyCFunction)(void (*)(void))search_exact, METH_VARARGS | METH_KEYWORDS,
     "search_exact(columns, goes_on, *, capacity, step, nodes, seconds)\n--\n\n"
     "Search for a placement of buffers below a capacity, and store it in the column `low`.\n\n"
     "Return the outcome (0 refuted, 1 fits, 2 undecided) and the number of visited nodes."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_c",
    .m_doc = "Offline placement and its verification, in C.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__c(void)
{
    return PyModuleDef_Init(&module);
}
