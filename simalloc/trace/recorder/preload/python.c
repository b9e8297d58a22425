/* The recorder's startup code in a Python program calls `simalloc_record_python` in each thread.
 * From then on, the interpreter calls `follow` when a Python function starts, resumes, pauses or
 * returns, as it does for a profiler. Only functions of the stable interface of Python are used. */
#include "python.h"

#include "numbers.h"
#include "process.h"
#include "stream.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { CALL = 0, RETURN = 3 }; /* PyTrace_CALL, PyTrace_RETURN */
enum { LINE_BITS = 24, MAX_LINES = 1 << LINE_BITS, MAX_FUNCTIONS = 1 << 20 };
enum { NAME_BYTES = 110, FILE_BYTES = 140, TEXT_BYTES = NAME_BYTES + 1 + FILE_BYTES };

/* A function that exists only in a free-threaded Python; NULL in other programs. */
extern void _Py_DecRefShared(void *object) __attribute__((weak, visibility("default")));

/* Unsets PYTHONMALLOC in a free-threaded Python, which fails unless its own mimalloc serves it. */
__attribute__((constructor)) static void leave_own_allocator(void)
{
    const char *wanted = getenv("SIMALLOC_RECORD_PYTHON");
    if (_Py_DecRefShared != NULL && wanted != NULL && *wanted != '\0')
        unsetenv("PYTHONMALLOC");
}

static const uintptr_t OF_PYTHON = (uintptr_t)1 << 63; /* set in the places of Python functions; no
                                                        * address of a program has this bit */

static struct {
    int (*ensure)(void);
    void (*release)(int state);
    void (*set_profile)(int (*follow)(void *, void *, int, void *), void *);
    void *(*code)(void *frame);
    void *(*back)(void *frame);
    int (*line)(void *frame);
    void *(*attribute)(void *object, const char *name);
    const char *(*text)(void *text, ptrdiff_t *length);
    void (*hold)(void *object);
    void (*drop)(void *object);
    void (*forget_error)(void);
} python;

/* Must be in process_memory: a forked child begins with an empty table. */
struct functions {
    struct numbers numbers; /* by code object; code objects are kept alive so that their addresses
                             * are not reused */
    struct {
        char text[TEXT_BYTES];
        uint8_t length;
    } named[MAX_FUNCTIONS];
};

static struct functions *functions;

/* Copies the end of a code object's attribute, at most `most` bytes. Returns the number of
 * bytes. */
static size_t copy(char *into, size_t most, void *code, const char *attribute)
{
    ptrdiff_t length = 0;
    void *value = python.attribute(code, attribute);
    const char *text = value == NULL ? NULL : python.text(value, &length);
    size_t kept = (size_t)length < most ? (size_t)length : most;
    if (text == NULL)
        python.forget_error();
    else
        memcpy(into, text + length - kept, kept);
    if (value != NULL)
        python.drop(value);
    return text == NULL ? 0 : kept;
}

static void name_function(uint32_t number, void *code)
{
    char *text = functions->named[number].text;
    size_t length = copy(text, NAME_BYTES, code, "co_qualname");
    if (length == 0) /* before Python 3.11 */
        length = copy(text, NAME_BYTES, code, "co_name");
    text[length++] = '\0';
    length += copy(text + length, FILE_BYTES, code, "co_filename");
    functions->named[number].length = (uint8_t)length;
}

static uint32_t function_of(void *frame)
{
    bool fresh;
    void *code = python.code(frame);
    uint32_t number = number_of(&functions->numbers, (uintptr_t)code, &fresh);
    if (number >= MAX_FUNCTIONS)
        number = 0;
    else if (fresh)
        name_function(number, code);
    if (!fresh)
        python.drop(code);
    return number;
}

static void push(struct python_stack *stack, void *frame)
{
    if (stack->depth < MAX_PYTHON_FRAMES) {
        python.hold(frame);
        stack->frames[stack->depth] = (struct python_frame){frame, function_of(frame), 0};
    }
    stack->depth++;
}

static void pop(struct python_stack *stack)
{
    if (--stack->depth < MAX_PYTHON_FRAMES)
        python.drop(stack->frames[stack->depth].frame);
}

/* Pops all frames above `frame`. A returning frame may be missing from the stack, because an
 * exception that is thrown into a generator is not reported as a call. */
static void pop_to(struct python_stack *stack, const void *frame)
{
    uint32_t at = stack->depth;
    while (at > 0 && at <= MAX_PYTHON_FRAMES && stack->frames[at - 1].frame != frame)
        at--;
    while (at > 0 && stack->depth >= at)
        pop(stack);
}

/* Pushes the functions that were called before the recorder was registered. */
static void push_all(struct python_stack *stack, void *frame)
{
    void *caller = python.back(frame);
    if (caller != NULL) {
        push_all(stack, caller);
        struct python_frame *top = &stack->frames[stack->depth - 1];
        if (stack->depth <= MAX_PYTHON_FRAMES)
            top->line = python.line(caller);
        python.drop(caller);
    }
    push(stack, frame);
}

static int follow(void *unused, void *frame, int what, void *argument)
{
    struct python_stack *stack = stream_python();
    (void)unused;
    (void)argument;
    if (stack == NULL)
        return 0;
    if (what == CALL && stack->depth == 0) {
        push_all(stack, frame);
    } else if (what == CALL) {
        if (stack->depth <= MAX_PYTHON_FRAMES) {
            struct python_frame *top = &stack->frames[stack->depth - 1];
            top->line = python.line(top->frame);
        }
        push(stack, frame);
    } else if (what == RETURN) {
        pop_to(stack, frame);
    }
    return 0;
}

size_t python_places(struct python_stack *stack, uintptr_t *places, size_t most)
{
    size_t count = 0;
    uint32_t at = stack->depth < MAX_PYTHON_FRAMES ? stack->depth : MAX_PYTHON_FRAMES;
    for (; at > 0 && count < most; at--) {
        struct python_frame *frame = &stack->frames[at - 1];
        if (at == stack->depth)
            frame->line = python.line(frame->frame);
        uintptr_t line = frame->line > 0 ? (uintptr_t)frame->line % MAX_LINES : 0;
        places[count++] = OF_PYTHON | (uintptr_t)frame->function << LINE_BITS | line;
    }
    return count;
}

bool python_place(uintptr_t place, const char **text, size_t *length, uint64_t *line)
{
    if ((place & OF_PYTHON) == 0)
        return false;
    uint32_t function = (uint32_t)((place & ~OF_PYTHON) >> LINE_BITS);
    *line = place % MAX_LINES;
    *text = functions->named[function].text;
    *length = functions->named[function].length;
    return true;
}

static void *found(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

/* Returns false also in a free-threaded Python, whose threads would call `follow` concurrently. */
static bool find_python(void)
{
    if (_Py_DecRefShared != NULL)
        return false;
    python.ensure = (int (*)(void))found("PyGILState_Ensure");
    python.release = (void (*)(int))found("PyGILState_Release");
    python.set_profile =
        (void (*)(int (*)(void *, void *, int, void *), void *))found("PyEval_SetProfile");
    python.code = (void *(*)(void *))found("PyFrame_GetCode");
    python.back = (void *(*)(void *))found("PyFrame_GetBack");
    python.line = (int (*)(void *))found("PyFrame_GetLineNumber");
    python.attribute = (void *(*)(void *, const char *))found("PyObject_GetAttrString");
    python.text = (const char *(*)(void *, ptrdiff_t *))found("PyUnicode_AsUTF8AndSize");
    python.hold = (void (*)(void *))found("Py_IncRef");
    python.drop = (void (*)(void *))found("Py_DecRef");
    python.forget_error = (void (*)(void))found("PyErr_Clear");
    if (functions == NULL)
        functions = process_memory(sizeof *functions);
    return functions != NULL && python.ensure != NULL && python.release != NULL &&
           python.set_profile != NULL && python.code != NULL && python.back != NULL &&
           python.line != NULL && python.attribute != NULL && python.text != NULL &&
           python.hold != NULL && python.drop != NULL && python.forget_error != NULL;
}

__attribute__((visibility("default"))) void simalloc_record_python(void)
{
    static bool known, usable;
    if (!known)
        usable = find_python();
    known = true;
    if (!usable)
        return;
    int state = python.ensure();
    python.set_profile(follow, NULL);
    python.release(state);
}
