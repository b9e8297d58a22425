#include "pickle_machine.h"

#include <stdlib.h>
#include <string.h>

static bool fail(struct machine *machine, const char *trouble)
{
    if (machine->store.trouble == NULL)
        machine->store.trouble = trouble;
    return false;
}

static bool add(struct machine *machine, struct stack *stack, struct value value)
{
    void *array = stack->at;
    if (!store_grow(&machine->store, &array, stack->count, &stack->capacity, sizeof value))
        return false;
    stack->at = array;
    stack->at[stack->count++] = value;
    return true;
}

static bool push(struct machine *machine, struct value value)
{
    return add(machine, &machine->stack, value);
}

/* Pops a value. A mark is an error. */
static bool pop(struct machine *machine, struct value *value)
{
    struct stack *stack = &machine->stack;
    if (stack->count == 0 || stack->at[stack->count - 1].kind == MARK)
        return fail(machine, "damaged");
    *value = stack->at[--stack->count];
    return true;
}

/* Reads a number of `width` bytes in little-endian order. */
static bool take(struct machine *machine, size_t width, uint64_t *number)
{
    if (width > machine->length - machine->at)
        return fail(machine, "it is cut off");
    *number = 0;
    for (size_t i = width; i-- > 0;)
        *number = *number << 8 | machine->bytes[machine->at + i];
    machine->at += width;
    return true;
}

/* Reads a length of `width` bytes and skips the string's bytes. The value contains the place of
 * these bytes. */
static bool take_string(struct machine *machine, size_t width, uint32_t kind, struct value *value)
{
    uint64_t length;
    if (!take(machine, width, &length))
        return false;
    if (length > machine->length - machine->at || length > UINT32_MAX)
        return fail(machine, "it is cut off");
    *value = (struct value){.kind = kind, .length = (uint32_t)length, .place = machine->at};
    machine->at += length;
    return true;
}

static bool push_string(struct machine *machine, size_t width, uint32_t kind)
{
    struct value value;
    return take_string(machine, width, kind, &value) && push(machine, value);
}

static bool push_number(struct machine *machine, size_t width)
{
    uint64_t number;
    if (!take(machine, width, &number))
        return false;
    if (width == 4)
        number = (uint64_t)(int64_t)(int32_t)(uint32_t)number;
    return push(machine, (struct value){.kind = NUMBER, .number = (int64_t)number});
}

/* Pushes a signed number of any length. */
static bool push_long(struct machine *machine, size_t width)
{
    struct value value;
    if (!take_string(machine, width, LARGE, &value))
        return false;
    if (value.length <= 8) {
        uint64_t number = 0;
        for (size_t i = value.length; i-- > 0;)
            number = number << 8 | machine->bytes[value.place + i];
        unsigned unused = 64 - 8 * value.length;
        int64_t whole = value.length == 0 ? 0 : (int64_t)(number << unused) >> unused;
        value = (struct value){.kind = NUMBER, .number = whole};
    }
    return push(machine, value);
}

static bool push_real(struct machine *machine)
{
    uint64_t bits;
    struct value value = {.kind = REAL};
    if (!take(machine, 8, &bits))
        return false;
    bits = __builtin_bswap64(bits); /* the number is big-endian */
    memcpy(&value.real, &bits, sizeof bits);
    return push(machine, value);
}

static bool push_empty(struct machine *machine, uint32_t kind)
{
    struct value value = {.kind = kind, .items = store_items(&machine->store)};
    return value.items != NULL && push(machine, value);
}

/* Finds the place of the last mark on the stack. */
static bool find_mark(struct machine *machine, size_t *mark)
{
    for (*mark = machine->stack.count; *mark > 0;)
        if (machine->stack.at[--*mark].kind == MARK)
            return true;
    return fail(machine, "damaged");
}

/* Replaces the values on the stack from place `items` on by a tuple and moves it to place
 * `first`. */
static bool push_tuple(struct machine *machine, size_t first, size_t items)
{
    struct stack *stack = &machine->stack;
    struct value tuple = {.kind = TUPLE, .items = store_items(&machine->store)};
    if (tuple.items == NULL)
        return false;
    for (size_t i = items; i < stack->count; i++) {
        if (stack->at[i].kind == MARK)
            return fail(machine, "damaged");
        if (!items_add(&machine->store, tuple.items, stack->at[i]))
            return false;
    }
    stack->count = first;
    return push(machine, tuple);
}

/* Adds the values on the stack from place `items` on to the list or dict below `end`. */
static bool fill(struct machine *machine, uint32_t kind, size_t end, size_t items)
{
    struct stack *stack = &machine->stack;
    if (end == 0 || items > stack->count || stack->at[end - 1].kind != kind ||
        (kind == DICT && (stack->count - items) % 2 != 0))
        return fail(machine, "damaged");
    struct value *whole = &stack->at[end - 1];
    for (size_t i = items; i < stack->count; i++)
        if (stack->at[i].kind == MARK || !items_add(&machine->store, whole->items, stack->at[i]))
            return fail(machine, "damaged");
    stack->count = end;
    return true;
}

static bool fill_from_mark(struct machine *machine, uint32_t kind)
{
    size_t mark;
    if (!find_mark(machine, &mark) || !fill(machine, kind, mark, mark + 1))
        return false;
    struct value *whole = &machine->stack.at[mark - 1];
    if (kind != DICT || !is_entry(whole->items, machine->bytes))
        return true;
    int64_t row = (int64_t)machine->entries.count;
    if (!entries_add(&machine->entries, &machine->store, whole->items, machine->bytes))
        return false;
    *whole = (struct value){.kind = ENTRY, .number = row};
    return true;
}

static bool fill_top(struct machine *machine, uint32_t kind, size_t items)
{
    size_t count = machine->stack.count;
    return count < items ? fail(machine, "damaged")
                         : fill(machine, kind, count - items, count - items);
}

/* Stores the top of the stack in a place of the memo. A memo cannot be longer than the pickle. */
static bool put(struct machine *machine, uint64_t place)
{
    const struct stack *stack = &machine->stack;
    if (stack->count == 0 || stack->at[stack->count - 1].kind == MARK || place > machine->length)
        return fail(machine, "damaged");
    while (machine->memo.count <= place)
        if (!add(machine, &machine->memo, (struct value){.kind = UNSET}))
            return false;
    machine->memo.at[place] = stack->at[stack->count - 1];
    return true;
}

static bool put_numbered(struct machine *machine, size_t width)
{
    uint64_t place;
    return take(machine, width, &place) && put(machine, place);
}

static bool get(struct machine *machine, size_t width)
{
    uint64_t place;
    if (!take(machine, width, &place))
        return false;
    if (place >= machine->memo.count || machine->memo.at[place].kind == UNSET)
        return fail(machine, "damaged");
    return push(machine, machine->memo.at[place]);
}

static bool skip(struct machine *machine, size_t bytes)
{
    uint64_t skipped;
    return take(machine, bytes, &skipped);
}

/* Reads a name that ends with a newline. */
static bool take_line(struct machine *machine, struct value *value)
{
    const uint8_t *from = &machine->bytes[machine->at];
    const uint8_t *end = memchr(from, '\n', machine->length - machine->at);
    if (end == NULL)
        return fail(machine, "it is cut off");
    *value = (struct value){.kind = TEXT, .length = (uint32_t)(end - from), .place = machine->at};
    machine->at += (size_t)(end - from) + 1;
    return true;
}

static bool refuse_name(struct machine *machine, bool on_stack)
{
    struct value *named = machine->named;
    bool known = on_stack ? pop(machine, &named[1]) && pop(machine, &named[0])
                          : take_line(machine, &named[0]) && take_line(machine, &named[1]);
    if (!known || named[0].kind != TEXT || named[1].kind != TEXT)
        named[0].kind = UNSET;
    return fail(machine, "it names a class or function, not data");
}

static bool stop(struct machine *machine)
{
    if (machine->stack.count != 1 || machine->stack.at[0].kind == MARK)
        return fail(machine, "damaged");
    return machine->done = true;
}

static bool step(struct machine *machine, uint8_t opcode)
{
    struct value value;
    size_t mark;
    switch (opcode) {
    case 0x80: return skip(machine, 1); /* protocol */
    case 0x95: return skip(machine, 8); /* frame */
    case '}': return push_empty(machine, DICT);
    case ']': return push_empty(machine, LIST);
    case ')': return push_empty(machine, TUPLE);
    case '(': return push(machine, (struct value){.kind = MARK});
    case 't': return find_mark(machine, &mark) && push_tuple(machine, mark, mark + 1);
    case 0x85: case 0x86: case 0x87: /* tuples of one, two and three values */
        mark = machine->stack.count - (size_t)(opcode - 0x84);
        return machine->stack.count < (size_t)(opcode - 0x84) ? fail(machine, "damaged")
                                                               : push_tuple(machine, mark, mark);
    case 'a': return fill_top(machine, LIST, 1);
    case 'e': return fill_from_mark(machine, LIST);
    case 's': return fill_top(machine, DICT, 2);
    case 'u': return fill_from_mark(machine, DICT);
    case 'N': return push(machine, (struct value){.kind = NOTHING});
    case 0x88: return push(machine, (struct value){.kind = TRUTH, .number = 1});
    case 0x89: return push(machine, (struct value){.kind = TRUTH});
    case 'J': return push_number(machine, 4);
    case 'K': return push_number(machine, 1);
    case 'M': return push_number(machine, 2);
    case 0x8a: return push_long(machine, 1);
    case 0x8b: return push_long(machine, 4);
    case 'G': return push_real(machine);
    case 'U': case 0x8c: return push_string(machine, 1, TEXT);
    case 'T': case 'X': return push_string(machine, 4, TEXT);
    case 0x8d: return push_string(machine, 8, TEXT);
    case 'C': return push_string(machine, 1, NOTHING);
    case 'B': return push_string(machine, 4, NOTHING);
    case 0x8e: return push_string(machine, 8, NOTHING);
    case 'q': return put_numbered(machine, 1);
    case 'r': return put_numbered(machine, 4);
    case 0x94: return put(machine, machine->memo.count);
    case 'h': return get(machine, 1);
    case 'j': return get(machine, 4);
    case '0': return pop(machine, &value);
    case '1': return find_mark(machine, &machine->stack.count);
    case '.': return stop(machine);
    case 'c': return refuse_name(machine, false);
    case 0x93: return refuse_name(machine, true);
    default: return fail(machine, "it contains something that is not data");
    }
}

void machine_run(struct machine *machine, size_t opcodes)
{
    for (; opcodes > 0 && !machine->done; opcodes--) {
        if (machine->at == machine->length) {
            fail(machine, "it is cut off");
            return;
        }
        if (!step(machine, machine->bytes[machine->at++]))
            return;
    }
}

void machine_release(struct machine *machine)
{
    free(machine->stack.at);
    free(machine->memo.at);
    entries_release(&machine->entries);
    store_release(&machine->store);
}
