/* Searches of simalloc.heap._core.Heap. */
#include "user_policies/user_policy.h"

struct query {
    struct user_policy *policy;
    uint64_t size;
    enum order order;
};

static bool as_query(PyObject *self, PyObject *const *args, Py_ssize_t count, Py_ssize_t most,
                     const char *method, struct query *query)
{
    query->order = ORDER_ADDRESS;
    query->policy = acting(self);
    if (query->policy == NULL || !takes(count, 1, most, method) ||
        !as_size(args[0], "size", 1, &query->size) ||
        (count > 1 && !as_order(args[1], &query->order)))
        return false;
    query->size = open_heap_min(&query->policy->open, query->size);
    return true;
}

/* Returns the result of a search. Counts the visited blocks, unless the search follows a growth. */
static PyObject *found_by(const struct query *query, const char *method, struct found_block found)
{
    struct open_heap *open = &query->policy->open;
    if (!open->grown)
        open->visited += found.visited;
    return answer(query->policy, note(query->policy, method, NO_BLOCK, query->size), found.block);
}

PyObject *heap_first_fit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct query query;
    uint32_t after = NO_BLOCK;
    if (!as_query(self, args, count, 3, "first_fit", &query))
        return NULL;
    if (count > 2 && args[2] != Py_None) {
        if (!as_block(query.policy, args[2], &after))
            return NULL;
        if (block_at_id(query.policy, after)->family_data != LISTED)
            return PyErr_Format(policy_error, "%R is not on the lists", args[2]);
        if (query.order == ORDER_LIFO)
            return PyErr_Format(policy_error, "a search after a block needs order 'ao' or 'fifo'");
    }
    struct free_index *index = open_heap_index(
        &query.policy->open, query.order == ORDER_ADDRESS ? BY_ADDRESS : BY_AGE);
    if (index == NULL)
        return out_of_memory(query.policy);
    return found_by(&query, "first_fit",
                    free_index_first(index, query.size, after, query.order == ORDER_LIFO));
}

PyObject *heap_next_fit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    static const enum free_order lists[] = {
        [ORDER_LIFO] = RING_LIFO, [ORDER_FIFO] = RING_FIFO, [ORDER_ADDRESS] = BY_ADDRESS};
    struct query query;
    if (!as_query(self, args, count, 2, "next_fit", &query))
        return NULL;
    struct free_index *index = open_heap_index(&query.policy->open, lists[query.order]);
    if (index == NULL)
        return out_of_memory(query.policy);
    return found_by(&query, "next_fit", free_index_next(index, query.size));
}

PyObject *heap_best_fit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    static const enum free_order orders[] = {
        [ORDER_LIFO] = BEST_LIFO, [ORDER_FIFO] = BEST_FIFO, [ORDER_ADDRESS] = BEST_ADDRESS};
    struct query query;
    if (!as_query(self, args, count, 2, "best_fit", &query))
        return NULL;
    struct free_index *index = open_heap_index(&query.policy->open, orders[query.order]);
    if (index == NULL)
        return out_of_memory(query.policy);
    struct found_block found = {free_index_best(index, query.size), query.policy->open.listed};
    return found_by(&query, "best_fit", found);
}

PyObject *heap_worst_fit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct query query;
    if (!as_query(self, args, count, 2, "worst_fit", &query))
        return NULL;
    struct free_index *index = open_heap_index(
        &query.policy->open, query.order == ORDER_ADDRESS ? BY_ADDRESS : BY_AGE);
    if (index == NULL)
        return out_of_memory(query.policy);
    struct found_block found = free_index_largest(index, query.order == ORDER_LIFO);
    if (found.block != NO_BLOCK && block_at_id(query.policy, found.block)->size < query.size)
        found.block = NO_BLOCK;
    return found_by(&query, "worst_fit", found);
}

static PyObject *list_of(struct user_policy *policy, PyObject *list, enum order order)
{
    struct free_index *index =
        open_heap_index(&policy->open, order == ORDER_ADDRESS ? BY_ADDRESS : BY_AGE);
    uint64_t count = policy->open.listed;
    uint32_t *ids = PyMem_Malloc((count + 1) * sizeof *ids);
    if (index == NULL || ids == NULL) {
        PyMem_Free(ids);
        return out_of_memory(policy);
    }
    free_index_blocks(index, ids);
    bool sound = true;
    for (uint64_t i = 0; sound && i < count; i++) {
        PyObject *block = block_of(policy, ids[order == ORDER_LIFO ? count - 1 - i : i]);
        sound = block != NULL && PyList_Append(list, block) == 0;
        Py_XDECREF(block);
    }
    PyMem_Free(ids);
    return sound ? list : NULL;
}

PyObject *heap_free_blocks(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct user_policy *policy = acting(self);
    enum order order = ORDER_ADDRESS;
    if (policy == NULL || !takes(count, 0, 1, "free_blocks") ||
        (count > 0 && !as_order(args[0], &order)))
        return NULL;
    /* This call may run other Python code, so it precedes the search. */
    PyObject *list = PyList_New(0);
    if (list != NULL && list_of(policy, list, order) == NULL)
        Py_CLEAR(list);
    return list;
}

PyObject *heap_visit(PyObject *self, PyObject *object)
{
    struct user_policy *policy = acting(self);
    uint64_t number;
    if (policy == NULL || !as_size(object, "count", 0, &number))
        return NULL;
    policy->open.visited += number;
    return Py_NewRef(Py_None);
}
