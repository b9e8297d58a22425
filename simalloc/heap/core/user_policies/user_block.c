/* Python type simalloc.heap._core.Block: a block of the heap for a policy in Python. */
#include "user_policies/user_policy.h"

PyTypeObject *block_type;

static bool grow_handles(struct user_policy *policy)
{
    uint32_t capacity = policy->open.heap.capacity;
    PyObject **handles = PyMem_Realloc(policy->handles, capacity * sizeof(PyObject *));
    if (handles == NULL)
        return false;
    for (uint32_t id = policy->capacity; id < capacity; id++)
        handles[id] = NULL;
    policy->handles = handles;
    policy->capacity = capacity;
    return true;
}

PyObject *block_of(struct user_policy *policy, uint32_t id)
{
    if (UNLIKELY(id >= policy->capacity) && !grow_handles(policy))
        return out_of_memory(policy);
    PyObject *known = policy->handles[id];
    if (known != NULL)
        return Py_NewRef(known);
    struct block_object *made;
    if (policy->pooled > 0) {
        made = (struct block_object *)policy->pool[--policy->pooled];
    } else {
        made = object_new(block_type);
        if (made == NULL)
            return NULL;
    }
    made->policy = policy;
    made->id = id;
    policy->handles[id] = (PyObject *)made;
    return Py_NewRef((PyObject *)made);
}

void forget_block(struct user_policy *policy, uint32_t id)
{
    PyObject *object = id < policy->capacity ? policy->handles[id] : NULL;
    if (object == NULL)
        return;
    policy->handles[id] = NULL;
    ((struct block_object *)object)->policy = NULL;
    if (Py_REFCNT(object) == 1 && policy->pooled < POOL)
        policy->pool[policy->pooled++] = object;
    else
        Py_DECREF(object);
}

bool as_block(struct user_policy *policy, PyObject *object, uint32_t *id)
{
    if (UNLIKELY(!Py_IS_TYPE(object, block_type))) {
        PyErr_Format(policy_error, "%R is not a Block", object);
        return false;
    }
    const struct block_object *block = (const struct block_object *)object;
    if (UNLIKELY(block->policy != policy)) {
        PyErr_SetString(policy_error, block->policy == NULL
                                          ? "the Block no longer exists: it was joined to another"
                                          : "the Block belongs to another simulation");
        return false;
    }
    *id = block->id;
    return true;
}

/* Returns the policy of a Block whose block exists, or NULL with an exception set. */
static const struct user_policy *policy_of(PyObject *self)
{
    const struct user_policy *policy = ((struct block_object *)self)->policy;
    if (UNLIKELY(policy == NULL))
        PyErr_SetString(policy_error, "the Block no longer exists: it was joined to another, or "
                                      "the simulation is over");
    return policy;
}

static uint32_t id_of(PyObject *self)
{
    return ((struct block_object *)self)->id;
}

static PyObject *get_address(PyObject *self, void *unused)
{
    (void)unused;
    const struct user_policy *policy = policy_of(self);
    return policy == NULL ? NULL
                          : PyLong_FromUnsignedLongLong(block_at_id(policy, id_of(self))->address);
}

static PyObject *get_size(PyObject *self, void *unused)
{
    (void)unused;
    const struct user_policy *policy = policy_of(self);
    return policy == NULL ? NULL
                          : PyLong_FromUnsignedLongLong(block_at_id(policy, id_of(self))->size);
}

static PyObject *get_is_free(PyObject *self, void *unused)
{
    (void)unused;
    const struct user_policy *policy = policy_of(self);
    return policy == NULL
               ? NULL
               : PyBool_FromLong(block_at_id(policy, id_of(self))->family_data != HELD);
}

static PyObject *get_is_listed(PyObject *self, void *unused)
{
    (void)unused;
    const struct user_policy *policy = policy_of(self);
    return policy == NULL ? NULL
                          : PyBool_FromLong(block_at_id(policy, id_of(self))->family_data == LISTED);
}

static PyObject *neighbour(PyObject *self, bool above)
{
    const struct user_policy *policy = policy_of(self);
    if (policy == NULL)
        return NULL;
    const struct block *block = block_at_id(policy, id_of(self));
    uint32_t id = above ? block->next : block->previous;
    return id == NO_BLOCK ? Py_NewRef(Py_None)
                          : block_of(((struct block_object *)self)->policy, id);
}

static PyObject *get_previous(PyObject *self, void *unused)
{
    (void)unused;
    return neighbour(self, false);
}

static PyObject *get_next(PyObject *self, void *unused)
{
    (void)unused;
    return neighbour(self, true);
}

static PyObject *block_repr(PyObject *self)
{
    const struct user_policy *policy = ((struct block_object *)self)->policy;
    if (policy == NULL)
        return PyUnicode_FromString("<Block that no longer exists>");
    static const char *const states[] = {
        [HELD] = "held", [UNSEARCHABLE] = "unsearchable", [LISTED] = "listed"};
    const struct block *block = block_at_id(policy, id_of(self));
    return PyUnicode_FromFormat("<Block [%llu, %llu) %s>", (unsigned long long)block->address,
                                (unsigned long long)(block->address + block->size),
                                states[block->family_data]);
}

static PyGetSetDef block_attributes[] = {
    {"address", get_address, NULL, "Start address in scaled bytes.", NULL},
    {"size", get_size, NULL, "Size in scaled bytes.", NULL},
    {"previous", get_previous, NULL, "The Block just below in memory, or None.", NULL},
    {"next", get_next, NULL, "The Block just above in memory, or None.", NULL},
    {"is_free", get_is_free, NULL,
     "True if the block does not hold an object of the program.", NULL},
    {"is_listed", get_is_listed, NULL, "True if the block is on the lists of free blocks.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot block_slots[] = {
    {Py_tp_dealloc, object_free},
    {Py_tp_repr, block_repr},
    {Py_tp_getset, block_attributes},
    {Py_tp_doc, "A block of the heap. A block has one Block object for as long as it exists."},
    {0, NULL},
};

static PyType_Spec block_spec = {
    .name = "simalloc.heap._core.Block",
    .basicsize = sizeof(struct block_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = block_slots,
};

bool add_block_type(PyObject *module)
{
    block_type = (PyTypeObject *)PyType_FromSpec(&block_spec);
    return block_type != NULL &&
           PyModule_AddObjectRef(module, "Block", (PyObject *)block_type) == 0;
}
