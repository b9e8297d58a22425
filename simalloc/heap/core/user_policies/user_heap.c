/* Python type simalloc.heap._core.Heap: the heap for a policy in Python. */
#include "user_policies/user_policy.h"

PyTypeObject *heap_type;

static PyObject *get_size(PyObject *self, void *unused)
{
    (void)unused;
    const struct user_policy *policy = acting(self);
    return policy == NULL ? NULL : PyLong_FromUnsignedLongLong(policy->open.heap.brk);
}

static PyObject *get_event(PyObject *self, void *unused)
{
    (void)unused;
    const struct user_policy *policy = acting(self);
    return policy == NULL ? NULL : PyLong_FromUnsignedLongLong(policy->event);
}

static PyObject *end_block(PyObject *self, bool last)
{
    struct user_policy *policy = acting(self);
    if (policy == NULL)
        return NULL;
    uint32_t id = last ? heap_last(&policy->open.heap) : heap_first(&policy->open.heap);
    return id == NO_BLOCK ? Py_NewRef(Py_None) : block_of(policy, id);
}

static PyObject *get_first(PyObject *self, void *unused)
{
    (void)unused;
    return end_block(self, false);
}

static PyObject *get_last(PyObject *self, void *unused)
{
    (void)unused;
    return end_block(self, true);
}

static PyMethodDef heap_methods[] = {
    {"first_fit", (PyCFunction)(void (*)(void))heap_first_fit, METH_FASTCALL,
     "first_fit(size, order='ao', after=None)"},
    {"next_fit", (PyCFunction)(void (*)(void))heap_next_fit, METH_FASTCALL,
     "next_fit(size, order='ao')"},
    {"best_fit", (PyCFunction)(void (*)(void))heap_best_fit, METH_FASTCALL,
     "best_fit(size, order='ao')"},
    {"worst_fit", (PyCFunction)(void (*)(void))heap_worst_fit, METH_FASTCALL,
     "worst_fit(size, order='ao')"},
    {"split", (PyCFunction)(void (*)(void))heap_split, METH_FASTCALL, "split(block, size)"},
    {"split_high", (PyCFunction)(void (*)(void))heap_split_high, METH_FASTCALL,
     "split_high(block, size)"},
    {"merge", heap_merge, METH_O, "merge(block)"},
    {"join", (PyCFunction)(void (*)(void))heap_join, METH_FASTCALL, "join(block, neighbour)"},
    {"insert", heap_insert, METH_O, "insert(block)"},
    {"remove", heap_remove, METH_O, "remove(block)"},
    {"extend", heap_extend_by, METH_O, "extend(size)"},
    {"grow", (PyCFunction)(void (*)(void))heap_grow, METH_FASTCALL, "grow(size, unit=1)"},
    {"visit", heap_visit, METH_O, "visit(count)"},
    {"free_blocks", (PyCFunction)(void (*)(void))heap_free_blocks, METH_FASTCALL,
     "free_blocks(order='ao')"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef heap_attributes[] = {
    {"size", get_size, NULL, "Size of the heap in scaled bytes: the break.", NULL},
    {"event", get_event, NULL, "Number of the current event, counted from 0.", NULL},
    {"first", get_first, NULL, "The lowest Block, or None.", NULL},
    {"last", get_last, NULL, "The Block that ends at the break, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot heap_slots[] = {
    {Py_tp_dealloc, object_free},
    {Py_tp_methods, heap_methods},
    {Py_tp_getset, heap_attributes},
    {Py_tp_doc, "The heap as a policy in Python sees it; see simalloc.policy.user.Heap."},
    {0, NULL},
};

static PyType_Spec heap_spec = {
    .name = "simalloc.heap._core.Heap",
    .basicsize = sizeof(struct heap_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = heap_slots,
};

bool add_heap_type(PyObject *module)
{
    heap_type = (PyTypeObject *)PyType_FromSpec(&heap_spec);
    return heap_type != NULL && intern_orders() &&
           PyModule_AddObjectRef(module, "Heap", (PyObject *)heap_type) == 0;
}
