/* Declarations of the files that connect a policy in Python with an open heap.
 *
 * A policy gets a Heap and Blocks. A Block is created when it is first returned to the policy. It
 * remains the same object until its block is joined to another block. Then, or at the end of the
 * simulation, the Block is detached, and further use raises an exception. All this code runs with
 * the GIL held. */
#ifndef SIMALLOC_USER_POLICY_H
#define SIMALLOC_USER_POLICY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "c/extension.h"
#include "families/family.h"
#include "user_policies/open_heap.h"

enum { STEPS = 16, POOL = 64 };

struct extent {
    uint64_t address;
    uint64_t size; /* bytes, or 0 without an extent */
};

/* A call of a Heap method, recorded to explain a later fault. */
struct step {
    const char *method;
    uint64_t number; /* number that was an argument, or 0 */
    struct extent block; /* block that was an argument, as it was at the call */
    struct extent answer;
};

struct user_policy {
    struct open_heap open; /* first member, which begins with its struct heap */
    PyObject *decider;       /* object of the policy, set by the binding */
    PyObject *decide_malloc; /* methods of the policy */
    PyObject *decide_free;
    PyObject *decide_resize;
    PyObject *heap_object;
    PyObject **handles; /* by id: Block that the policy has got, or NULL */
    uint32_t capacity;  /* number of entries of `handles` */
    PyObject *pool[POOL]; /* unused Blocks for reuse */
    int pooled;
    bool acting;      /* true within an event, when the policy may use the heap */
    /* Block on which resize() acts, and which its object still holds; or NO_BLOCK. */
    uint32_t resized;
    uint64_t event; /* number of the event, from 0 */
    /* Latest of the `stepped` calls in this event; call i is in entry i % STEPS. */
    struct step steps[STEPS];
    uint64_t stepped;
};

struct block_object {
    PyObject ob_base;
    struct user_policy *policy; /* NULL if the block no longer exists */
    uint32_t id;
};

struct heap_object {
    PyObject ob_base;
    struct user_policy *policy; /* NULL after the end of the simulation */
};

extern const struct family user_policy;

/* Objects that are created when the module is imported. */
extern PyTypeObject *block_type;
extern PyTypeObject *heap_type;
extern PyObject *policy_error;

bool add_block_type(PyObject *module);
bool add_heap_type(PyObject *module);
/* Creates the types and constants for policies in Python. Returns false, with an exception set, on
 * failure. */
bool add_user_policy(PyObject *module);

/* Returns a new reference to the Block of an id, or NULL with an exception set. */
PyObject *block_of(struct user_policy *policy, uint32_t id);
/* Detaches the Block of an id that becomes invalid. */
void forget_block(struct user_policy *policy, uint32_t id);
/* Stores the id of a Block in `id`. Returns false, with an exception set, if the object is not a
 * Block of this heap. */
bool as_block(struct user_policy *policy, PyObject *object, uint32_t *id);

/* Returns the policy of a Heap that is deciding an event, or NULL with an exception set. */
struct user_policy *acting(PyObject *heap);
/* Ends the simulation. Returns NULL with an exception set. */
PyObject *out_of_memory(struct user_policy *policy);
/* Starts the record of a call. */
struct step *note(struct user_policy *policy, const char *method, uint32_t block,
                  uint64_t number);
/* Records the result of a call. Returns the result to Python: a Block, or None for NO_BLOCK. */
PyObject *answer(struct user_policy *policy, struct step *step, uint32_t id);

/* Check or convert arguments. Return false, with an exception set, if an argument is wrong. */
bool takes(Py_ssize_t count, Py_ssize_t least, Py_ssize_t most, const char *method);
bool as_size(PyObject *object, const char *name, uint64_t least, uint64_t *size);
bool as_free_block(struct user_policy *policy, PyObject *object, uint32_t *id);
bool as_order(PyObject *object, enum order *order);
bool intern_orders(void); /* creates the strings that as_order() compares */

/* Methods of Heap. */
PyObject *heap_first_fit(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *heap_next_fit(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *heap_best_fit(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *heap_worst_fit(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *heap_free_blocks(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *heap_visit(PyObject *self, PyObject *object);
PyObject *heap_split(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *heap_split_high(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *heap_merge(PyObject *self, PyObject *object);
PyObject *heap_join(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *heap_insert(PyObject *self, PyObject *object);
PyObject *heap_remove(PyObject *self, PyObject *object);
PyObject *heap_extend_by(PyObject *self, PyObject *object);
PyObject *heap_grow(PyObject *self, PyObject *const *args, Py_ssize_t count);

ALWAYS_INLINE struct block *block_at_id(const struct user_policy *policy, uint32_t id)
{
    return &policy->open.heap.blocks[id];
}

ALWAYS_INLINE struct extent extent_of(const struct user_policy *policy, uint32_t id)
{
    if (id == NO_BLOCK)
        return (struct extent){0, 0};
    const struct block *block = block_at_id(policy, id);
    return (struct extent){block->address, block->size};
}

#endif
