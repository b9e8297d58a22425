/* Family of the policies in Python: malloc and free are methods of a Python object.
 *
 * The replay holds the GIL while it executes events. If a method raises an exception or returns an
 * invalid result, the heap's failure stops the replay, and the caller of the replay gets the
 * exception. */
#include "user_policies/user_policy.h"

#include <string.h>

#include "replay/requests.h"

PyObject *policy_error;

bool add_user_policy(PyObject *module)
{
    PyObject *errors = PyImport_ImportModule("simalloc.errors");
    if (errors == NULL)
        return false;
    policy_error = PyObject_GetAttrString(errors, "PolicyError");
    Py_DECREF(errors);
    return policy_error != NULL && add_block_type(module) && add_heap_type(module);
}

static PyObject *extent_tuple(struct extent extent)
{
    return extent.size == 0 ? Py_NewRef(Py_None)
                            : Py_BuildValue("(KK)", (unsigned long long)extent.address,
                                            (unsigned long long)extent.size);
}

/* Returns the calls of the event as a list of (method, block or None, number or 0, answer or None).
 * Blocks are (address, size). */
static PyObject *steps_of(const struct user_policy *policy)
{
    PyObject *steps = PyList_New(0);
    uint64_t first = policy->stepped > STEPS ? policy->stepped - STEPS : 0;
    for (uint64_t i = first; steps != NULL && i < policy->stepped; i++) {
        const struct step *step = &policy->steps[i % STEPS];
        PyObject *item =
            Py_BuildValue("(sNKN)", step->method, extent_tuple(step->block),
                          (unsigned long long)step->number, extent_tuple(step->answer));
        if (item == NULL || PyList_Append(steps, item) < 0)
            Py_CLEAR(steps);
        Py_XDECREF(item);
    }
    return steps;
}

/* Replaces the current exception by one that names the event, the method and the calls before
 * it. */
static void explain(const struct user_policy *policy, const char *method, uint64_t size)
{
    PyObject *type;
    PyObject *error;
    PyObject *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL)
        PyException_SetTraceback(error, traceback);
    if (!PyErr_GivenExceptionMatches(type, PyExc_Exception)) { /* Ctrl-C, exit() */
        PyErr_Restore(type, error, traceback);
        return;
    }
    PyObject *module = PyImport_ImportModule("simalloc.heap.running.user_policy_errors");
    PyObject *steps = module == NULL ? NULL : steps_of(policy);
    PyObject *explained = steps == NULL ? NULL
                                        : PyObject_CallMethod(module, "explained", "OKsKO", error,
                                                              (unsigned long long)policy->event,
                                                              method, (unsigned long long)size,
                                                              steps);
    if (explained != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(explained), explained);
    Py_XDECREF(explained);
    Py_XDECREF(steps);
    Py_XDECREF(module);
    Py_XDECREF(traceback);
    Py_DECREF(error);
    Py_DECREF(type);
}

/* Ends the replay with the current exception. */
static void fail(struct user_policy *policy, const char *method, uint64_t size)
{
    if (!PyErr_Occurred()) /* the policy has caught a MemoryError */
        PyErr_NoMemory();
    heap_fail(&policy->open.heap, "the policy has failed");
    explain(policy, method, size);
}

/* Returns the columns of the request that the policy's malloc has as parameters, as keyword
 * arguments. Returns NULL with an exception set on failure. */
static PyObject *named_columns(const struct heap *heap)
{
    const struct request *request = &heap->request;
    const struct {
        const char *name;
        uint64_t column;
        uint64_t value;
    } all[] = {{"thread", COLUMN_THREAD, request->thread},
               {"time", COLUMN_TIME, request->time},
               {"site", COLUMN_SITE, request->site}};
    PyObject *named = PyDict_New();
    for (size_t i = 0; named != NULL && i < sizeof all / sizeof *all; i++) {
        if ((heap->setting.columns & all[i].column) == 0)
            continue;
        PyObject *value = PyLong_FromUnsignedLongLong(all[i].value);
        if (value == NULL || PyDict_SetItemString(named, all[i].name, value) < 0)
            Py_CLEAR(named);
        Py_XDECREF(value);
    }
    return named;
}

/* Calls the policy's malloc with the columns that it has as parameters. */
static PyObject *decide_named(struct user_policy *policy, uint64_t size)
{
    PyObject *named = named_columns(&policy->open.heap);
    PyObject *given = Py_BuildValue("(OK)", policy->heap_object, (unsigned long long)size);
    PyObject *answer = NULL;
    policy->stepped = 0;
    policy->acting = true;
    if (named != NULL && given != NULL)
        answer = PyObject_Call(policy->decide_malloc, given, named);
    policy->acting = false;
    Py_XDECREF(named);
    Py_XDECREF(given);
    return answer;
}

/* Calls a method of the policy with one or two arguments. Steals the references to the
 * arguments. */
static PyObject *decide(struct user_policy *policy, PyObject *method, PyObject *first,
                        PyObject *second)
{
    PyObject *answer = NULL;
    policy->stepped = 0;
    policy->acting = true;
    if (LIKELY(first != NULL))
        answer =
            PyObject_CallFunctionObjArgs(method, policy->heap_object, first, second, NULL);
    policy->acting = false;
    Py_XDECREF(first);
    Py_XDECREF(second);
    return answer;
}

/* Stores the block of a policy's result, or NO_BLOCK for None, and gives the block to its object.
 * Returns false, with an exception set, if the block is not valid. */
static bool accept(struct user_policy *policy, PyObject *answer, uint64_t size, uint32_t *id)
{
    if (answer == Py_None) {
        *id = NO_BLOCK;
        return true;
    }
    if (!as_block(policy, answer, id))
        return false;
    const struct block *block = block_at_id(policy, *id);
    if (LIKELY(block->family_data == UNSEARCHABLE && block->size >= size)) {
        open_heap_hold(&policy->open, *id);
        return true;
    }
    if (block->family_data == HELD)
        PyErr_Format(policy_error,
                     "malloc returned %R, which already holds another object", answer);
    else if (block->family_data == LISTED)
        PyErr_Format(policy_error,
                     "malloc returned %R, which is still on the lists; take it off with split() or "
                     "remove()",
                     answer);
    else
        PyErr_Format(policy_error,
                     "malloc returned %R, which has %llu bytes instead of at least %llu",
                     answer, (unsigned long long)block->size, (unsigned long long)size);
    return false;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct user_policy *policy = (struct user_policy *)heap;
    if (UNLIKELY(heap->failure != NULL)) /* the free of the same realloc has failed */
        return NO_BLOCK;
    open_heap_begin(&policy->open);
    PyObject *answer =
        heap->setting.columns != 0
            ? decide_named(policy, size)
            : decide(policy, policy->decide_malloc, PyLong_FromUnsignedLongLong(size), NULL);
    uint32_t id;
    if (UNLIKELY(answer == NULL || heap->failure != NULL || !accept(policy, answer, size, &id))) {
        fail(policy, "malloc", size);
        id = NO_BLOCK;
    }
    Py_XDECREF(answer);
    count_search(heap, policy->open.visited);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct user_policy *policy = (struct user_policy *)heap;
    if (UNLIKELY(heap->failure != NULL)) /* the malloc of the same realloc has failed */
        return;
    uint64_t size = heap->blocks[id].size;
    open_heap_let_go(&policy->open, id);
    PyObject *answer = decide(policy, policy->decide_free, block_of(policy, id), NULL);
    if (UNLIKELY(answer == NULL || heap->failure != NULL))
        fail(policy, "free", size);
    Py_XDECREF(answer);
}

/* Checks the block of a resize, and gives it back to its object. Returns false, with an exception
 * set, if the result is not valid. */
static bool accept_resized(struct user_policy *policy, PyObject *answer, PyObject *object,
                           uint64_t size)
{
    uint32_t id;
    if (!Py_IS_TYPE(answer, &PyBool_Type)) {
        PyErr_Format(policy_error, "resize returned %R; return True or False", answer);
        return false;
    }
    if (!as_block(policy, object, &id))
        return false;
    const struct block *block = block_at_id(policy, id);
    if (block->family_data == UNSEARCHABLE && (answer == Py_False || block->size >= size)) {
        open_heap_hold(&policy->open, id);
        return true;
    }
    PyErr_Format(policy_error,
                 "resize returned %R, but left %R, which cannot hold %llu bytes", answer, object,
                 (unsigned long long)size);
    return false;
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct user_policy *policy = (struct user_policy *)heap;
    struct extent before = extent_of(policy, id);
    PyObject *block = block_of(policy, id);
    open_heap_let_go(&policy->open, id);
    policy->resized = id;
    PyObject *answer = decide(policy, policy->decide_resize, Py_XNewRef(block),
                              PyLong_FromUnsignedLongLong(size));
    policy->resized = NO_BLOCK;
    bool resized = answer == Py_True;
    bool sound = answer != NULL && heap->failure == NULL &&
                 accept_resized(policy, answer, block, size);
    struct extent after = sound ? extent_of(policy, id) : before;
    if (sound && (after.address != before.address || (!resized && after.size != before.size))) {
        PyErr_Format(policy_error,
                     "resize returned %R, but changed the block to %R", answer, block);
        sound = false;
    }
    if (UNLIKELY(!sound))
        fail(policy, "resize", size);
    Py_XDECREF(answer);
    Py_XDECREF(block);
    return resized;
}

static bool reserve(struct heap *heap)
{
    return open_heap_reserve(&((struct user_policy *)heap)->open);
}

static size_t replay(struct replay *replay, const struct events *events);

static const struct layer layer = {.replay = replay,
                                   .allocate = allocate,
                                   .release = release,
                                   .resize = resize,
                                   .reserve = reserve};

/* Replays one event at a time, because the policy can read the number of the event. */
static size_t replay_singly(struct replay *replay, const struct events *events,
                            replay_function *replay_one)
{
    struct user_policy *policy = (struct user_policy *)replay->heap;
    PyGILState_STATE gil = PyGILState_Ensure();
    size_t done = 0;
    while (done < events->count && replay->heap->failure == NULL) {
        struct events one = events_from(events, done, 1);
        policy->event++;
        done += replay_one(replay, &one);
    }
    PyGILState_Release(gil);
    return done;
}

static size_t replay_one(struct replay *replay, const struct events *event)
{
    return replay_events(replay, event, allocate, release, reserve, &layer, true);
}

static size_t replay(struct replay *replay, const struct events *events)
{
    return replay_singly(replay, events, replay_one);
}

/* Replays events if the policy uses further columns, or if more is measured. */
static size_t replay_with_requests(struct replay *replay, const struct events *events)
{
    return replay_singly(replay, events, replay_requests);
}

static const struct layer *next_layer(struct heap *heap)
{
    (void)heap;
    return &layer;
}

static bool init(void *memory)
{
    struct user_policy *policy = memory;
    if (!open_heap_init(&policy->open))
        return false;
    policy->event = UINT64_MAX; /* before the first event */
    policy->resized = NO_BLOCK;
    policy->decide_malloc = PyObject_GetAttrString(policy->decider, "malloc");
    policy->decide_free = PyObject_GetAttrString(policy->decider, "free");
    policy->decide_resize = PyObject_GetAttrString(policy->decider, "resize");
    policy->heap_object = object_new(heap_type);
    if (policy->decide_malloc == NULL || policy->decide_free == NULL ||
        policy->decide_resize == NULL || policy->heap_object == NULL)
        return false;
    ((struct heap_object *)policy->heap_object)->policy = policy;
    return true;
}

static void release_all(void *memory)
{
    struct user_policy *policy = memory;
    while (policy->pooled > 0)
        Py_DECREF(policy->pool[--policy->pooled]);
    for (uint32_t id = 0; id < policy->capacity; id++) {
        if (policy->handles[id] != NULL)
            ((struct block_object *)policy->handles[id])->policy = NULL;
        Py_CLEAR(policy->handles[id]);
    }
    PyMem_Free(policy->handles);
    if (policy->heap_object != NULL)
        ((struct heap_object *)policy->heap_object)->policy = NULL;
    Py_CLEAR(policy->heap_object);
    open_heap_release(&policy->open);
    Py_CLEAR(policy->decide_malloc);
    Py_CLEAR(policy->decide_free);
    Py_CLEAR(policy->decide_resize);
}

static const char *check(const void *memory)
{
    const struct user_policy *policy = memory;
    const struct heap *heap = &policy->open.heap;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        const PyObject *handle = id < policy->capacity ? policy->handles[id] : NULL;
        const struct block_object *block = (const struct block_object *)handle;
        if (block != NULL && (block->policy != policy || block->id != id))
            return "a Block refers to the wrong block";
    }
    return open_heap_check(&policy->open);
}

static uint64_t unsearchable(const void *memory, uint64_t *bytes)
{
    return open_heap_unsearchable(&((const struct user_policy *)memory)->open, bytes);
}

const struct family user_policy = {
    .name = "python",
    .state_size = sizeof(struct user_policy),
    .blocks_an_event = 64,
    .init = init,
    .release = release_all,
    .next_layer = next_layer,
    .replay_requests = replay_with_requests,
    .check = check,
    .unsearchable = unsearchable,
    .refuses = true,
};
