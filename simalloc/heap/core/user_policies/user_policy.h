/* Declarations shared by the files that let a policy in Python act on an open heap.
 *
 * A policy gets a Heap and Blocks. A Block is made when it is first handed out and stays the same
 * object until its block is joined to another. Then, and when the simulation ends, it is detached,
 * so that further use of it raises an exception. All of this runs with the GIL held. */
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
    uint64_t size; /* bytes, or 0 for no extent */
};

/* A call of one of the heap's methods, recorded to explain a later fault. */
struct step {
    const char *method;
    uint64_t number; /* number given as an argument, or 0 */
    struct extent block; /* block given as an argument, as it was then */
    struct extent answer;
};

struct user_policy {
    struct open_heap open; /* begins with its struct heap */
    PyObject *decider;       /* policy's object, set by the binding */
    PyObject *decide_malloc; /* policy's own methods */
    PyObject *decide_free;
    PyObject *decide_resize;
    PyObject *heap_object;
    PyObject **handles; /* by id: Block that has been handed out, or NULL */
    uint32_t capacity;  /* entries of `handles` */
    PyObject *pool[POOL]; /* unused Blocks for reuse */
    int pooled;
    bool acting;      /* true within an event, when the policy may use the heap */
    uint32_t resized; /* block that resize() acts on, still held by its object; or NO_BLOCK */
    uint64_t event; /* number of the event, from 0 */
    struct step steps[STEPS]; /* latest of the `stepped` calls in this event, call i in i % STEPS */
    uint64_t stepped;
};

struct block_object {
    PyObject ob_base;
    struct user_policy *policy; /* NULL once the block does not exist */
    uint32_t id;
};

struct heap_object {
    PyObject ob_base;
    struct user_policy *policy; /* NULL after the simulation */
};

extern const struct family user_policy;

/* These are made when the module is imported. */
extern PyTypeObject *block_type;
extern PyTypeObject *heap_type;
extern PyObject *policy_error;

bool add_block_type(PyObject *module);
bool add_heap_type(PyObject *module);
/* Makes the types and constants that policies in Python need. */
bool add_user_policy(PyObject *module);

/* Returns a new reference to the Block of an id; NULL with an exception set. */
PyObject *block_of(struct user_policy *policy, uint32_t id);
/* Detaches the Block of an id that becomes invalid. */
void forget_block(struct user_policy *policy, uint32_t id);
/* Stores the block that an argument is. Returns false, with an exception set, if it is not a block
 * of this heap. */
bool as_block(struct user_policy *policy, PyObject *object, uint32_t *id);

/* Returns the policy of a Heap that is deciding an event, or NULL with an exception set. */
struct user_policy *acting(PyObject *heap);
/* Ends the simulation; returns NULL with an exception set. */
PyObject *out_of_memory(struct user_policy *policy);
/* Begins the record of a call. */
struct step *note(struct user_policy *policy, const char *method, uint32_t block,
                  uint64_t number);
/* Records a call's result and returns it to Python: a Block, or None for NO_BLOCK. */
PyObject *answer(struct user_policy *policy, struct step *step, uint32_t id);

/* Check or convert arguments. They return false, with an exception set, if an argument is wrong. */
bool takes(Py_ssize_t count, Py_ssize_t least, Py_ssize_t most, const char *method);
bool as_size(PyObject *object, const char *name, uint64_t least, uint64_t *size);
bool as_free_block(struct user_policy *policy, PyObject *object, uint32_t *id);
bool as_order(PyObject *object, enum order *order);
bool intern_orders(void); /* for as_order() */

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
