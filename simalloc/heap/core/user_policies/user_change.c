/* Methods of simalloc.heap._core.Heap that change blocks.
 *
 * Every method checks its arguments before any change, so that no policy can corrupt the heap. */
#include "user_policies/user_policy.h"

static PyObject *split(PyObject *self, PyObject *const *args, Py_ssize_t count, bool high)
{
    const char *method = high ? "split_high" : "split";
    struct user_policy *policy = acting(self);
    uint32_t id;
    uint64_t size;
    if (policy == NULL || !takes(count, 2, 2, method))
        return NULL;
    if (Py_IsNone(args[0])) /* result of a refused growth */
        return Py_NewRef(Py_None);
    if (!as_free_block(policy, args[0], &id) || !as_size(args[1], "size", 1, &size))
        return NULL;
    const struct block *block = block_at_id(policy, id);
    if (size > block->size)
        return PyErr_Format(policy_error,
                            "%R has %llu bytes; %llu bytes cannot be split off", args[0],
                            (unsigned long long)block->size, (unsigned long long)size);
    struct step *step = note(policy, method, id, size);
    if (size == block->size) {
        if (block->family_data == LISTED)
            open_heap_remove(&policy->open, id);
    } else if (!open_heap_split(&policy->open, id, size, high, &id)) {
        return out_of_memory(policy);
    }
    return answer(policy, step, id);
}

PyObject *heap_split(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    return split(self, args, count, false);
}

PyObject *heap_split_high(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    return split(self, args, count, true);
}

/* Joins a free neighbour to an unsearchable block. */
static void join(struct user_policy *policy, uint32_t id, uint32_t neighbour)
{
    if (block_at_id(policy, neighbour)->family_data == LISTED)
        open_heap_remove(&policy->open, neighbour);
    open_heap_join(&policy->open, id, neighbour);
    policy->open.heap.counters.coalescings += id != policy->resized;
    forget_block(policy, neighbour);
}

static bool is_listed(const struct user_policy *policy, uint32_t id)
{
    return id != NO_BLOCK && block_at_id(policy, id)->family_data == LISTED;
}

/* Merges a block with its listed neighbours. The result is unsearchable. */
static void merge(struct user_policy *policy, uint32_t id)
{
    if (is_listed(policy, id))
        open_heap_remove(&policy->open, id);
    uint32_t below = block_at_id(policy, id)->previous;
    uint32_t above = block_at_id(policy, id)->next;
    if (is_listed(policy, below))
        join(policy, id, below);
    if (is_listed(policy, above))
        join(policy, id, above);
}

PyObject *heap_merge(PyObject *self, PyObject *object)
{
    struct user_policy *policy = acting(self);
    uint32_t id;
    if (policy == NULL || !as_free_block(policy, object, &id))
        return NULL;
    struct step *step = note(policy, "merge", id, 0);
    merge(policy, id);
    return answer(policy, step, id);
}

PyObject *heap_join(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct user_policy *policy = acting(self);
    uint32_t id;
    uint32_t other;
    if (policy == NULL || !takes(count, 2, 2, "join") || !as_free_block(policy, args[0], &id) ||
        !as_free_block(policy, args[1], &other))
        return NULL;
    const struct block *block = block_at_id(policy, id);
    if (other != block->next && other != block->previous)
        return PyErr_Format(policy_error, "%R and %R are not neighbours", args[0], args[1]);
    struct step *step = note(policy, "join", id, 0);
    if (block->family_data == LISTED)
        open_heap_remove(&policy->open, id);
    join(policy, id, other);
    return answer(policy, step, id);
}

PyObject *heap_insert(PyObject *self, PyObject *object)
{
    struct user_policy *policy = acting(self);
    uint32_t id;
    if (policy == NULL || !as_free_block(policy, object, &id))
        return NULL;
    if (block_at_id(policy, id)->family_data == LISTED)
        return PyErr_Format(policy_error, "%R is already on the lists", object);
    struct step *step = note(policy, "insert", id, 0);
    return open_heap_insert(&policy->open, id) ? answer(policy, step, id) : out_of_memory(policy);
}

PyObject *heap_remove(PyObject *self, PyObject *object)
{
    struct user_policy *policy = acting(self);
    uint32_t id;
    if (policy == NULL || !as_free_block(policy, object, &id))
        return NULL;
    if (block_at_id(policy, id)->family_data != LISTED)
        return PyErr_Format(policy_error, "%R is not on the lists", object);
    struct step *step = note(policy, "remove", id, 0);
    open_heap_remove(&policy->open, id);
    return answer(policy, step, id);
}

/* Raises the break. Returns NO_BLOCK if the capacity does not allow it, or with an exception set if
 * addresses or memory are exhausted. */
static uint32_t extend(struct user_policy *policy, uint64_t size)
{
    struct heap *heap = &policy->open.heap;
    if (!heap_has_room(heap, size))
        return heap_refuse(heap);
    if (size > MAX_BREAK - heap->brk) {
        PyErr_SetString(policy_error, "the heap would exceed 2**62 bytes");
        return NO_BLOCK;
    }
    uint32_t id = open_heap_extend(&policy->open, size);
    if (id == NO_BLOCK)
        out_of_memory(policy);
    return id;
}

/* Returns the Block of a growth, None if the growth was refused, or NULL with an exception set. */
static PyObject *answer_growth(struct user_policy *policy, struct step *step, uint32_t id)
{
    if (id != NO_BLOCK)
        return answer(policy, step, id);
    return PyErr_Occurred() != NULL ? NULL : Py_NewRef(Py_None);
}

PyObject *heap_extend_by(PyObject *self, PyObject *object)
{
    struct user_policy *policy = acting(self);
    uint64_t size;
    if (policy == NULL || !as_size(object, "size", 1, &size))
        return NULL;
    struct step *step = note(policy, "extend", NO_BLOCK, size);
    return answer_growth(policy, step, extend(policy, size));
}

PyObject *heap_grow(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct user_policy *policy = acting(self);
    uint64_t size;
    uint64_t unit = 1;
    if (policy == NULL || !takes(count, 1, 2, "grow") || !as_size(args[0], "size", 1, &size) ||
        (count > 1 && !as_size(args[1], "unit", 1, &unit)))
        return NULL;
    struct step *step = note(policy, "grow", NO_BLOCK, size);
    uint32_t last = heap_last(&policy->open.heap);
    uint64_t there = is_listed(policy, last) ? block_at_id(policy, last)->size : 0;
    if (there >= size)
        return answer(policy, step, last);
    uint32_t id = extend(policy, round_up(size - there, unit));
    if (id == NO_BLOCK)
        return answer_growth(policy, step, id);
    merge(policy, id);
    return open_heap_insert(&policy->open, id) ? answer(policy, step, id) : out_of_memory(policy);
}
