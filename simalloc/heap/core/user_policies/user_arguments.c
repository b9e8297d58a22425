/* Argument checks and results of Heap methods. */
#include "user_policies/user_policy.h"

struct user_policy *acting(PyObject *self)
{
    struct user_policy *policy = ((struct heap_object *)self)->policy;
    if (LIKELY(policy != NULL && policy->acting && policy->open.heap.failure == NULL))
        return policy;
    if (policy != NULL && policy->open.heap.failure != NULL)
        PyErr_SetString(policy_error, policy->open.heap.failure);
    else
        PyErr_SetString(policy_error, policy == NULL
                                          ? "the simulation of this heap is over"
                                          : "the heap can be used only within malloc, free and "
                                            "resize");
    return NULL;
}

PyObject *out_of_memory(struct user_policy *policy)
{
    policy->open.heap.failure = OUT_OF_MEMORY;
    return PyErr_NoMemory();
}

struct step *note(struct user_policy *policy, const char *method, uint32_t block,
                  uint64_t number)
{
    struct step *step = &policy->steps[policy->stepped++ % STEPS];
    *step = (struct step){.method = method, .number = number, .block = extent_of(policy, block)};
    return step;
}

PyObject *answer(struct user_policy *policy, struct step *step, uint32_t id)
{
    if (id == NO_BLOCK)
        return Py_NewRef(Py_None);
    step->answer = extent_of(policy, id);
    return block_of(policy, id);
}

bool takes(Py_ssize_t count, Py_ssize_t least, Py_ssize_t most, const char *method)
{
    if (LIKELY(count >= least && count <= most))
        return true;
    if (least == most)
        PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, but got %zd", method, most, count);
    else
        PyErr_Format(PyExc_TypeError, "%s() takes %zd to %zd arguments, but got %zd", method,
                     least, most, count);
    return false;
}

bool as_size(PyObject *object, const char *name, uint64_t least, uint64_t *size)
{
    if (UNLIKELY(!PyLong_Check(object))) {
        PyErr_Format(policy_error, "%s is %R; use a whole number", name, object);
        return false;
    }
    *size = PyLong_AsUnsignedLongLong(object);
    if (LIKELY(*size >= least && *size <= MAX_BREAK))
        return true;
    PyErr_Clear();
    PyErr_Format(policy_error, "%s is %S; use a number from %llu to 2**62", name, object,
                 (unsigned long long)least);
    return false;
}

bool as_free_block(struct user_policy *policy, PyObject *object, uint32_t *id)
{
    if (UNLIKELY(!as_block(policy, object, id)))
        return false;
    if (LIKELY(block_at_id(policy, *id)->family_data != HELD))
        return true;
    PyErr_Format(policy_error, "%R is not free: an object holds it", object);
    return false;
}

static PyObject *interned_orders[3]; /* by enum order */

bool intern_orders(void)
{
    for (int i = 0; i < 3; i++) {
        interned_orders[i] = PyUnicode_InternFromString(order_names[i]);
        if (interned_orders[i] == NULL)
            return false;
    }
    return true;
}

bool as_order(PyObject *object, enum order *order)
{
    for (int i = 0; i < 3; i++) {
        if (object == interned_orders[i] ||
            (PyUnicode_Check(object) && PyUnicode_Compare(object, interned_orders[i]) == 0)) {
            *order = (enum order)i;
            return true;
        }
    }
    PyErr_Format(policy_error, "order is %R; use 'ao', 'lifo' or 'fifo'", object);
    return false;
}
