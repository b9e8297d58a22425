#include "tables.h"

#if defined(__x86_64__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

enum { BP = 6, SP = 7, RETURN_ADDRESS = 16 }; /* register numbers in the tables */
enum { MAX_REMEMBERED = 8 };

/* Encodings of pointers in the tables: format and base. */
enum { FORM = 0x0f, FORM_ULEB = 1, FORM_2 = 2, FORM_4 = 3, FORM_SIGNED = 8, FROM = 0x70,
       FROM_HERE = 0x10 };

/* The sorted header that linkers write. Each field has four bytes and is relative to the header. */
struct sorted {
    uint8_t version, pointer_form, count_form, entry_form;
    int32_t tables;
    uint32_t count;
    struct {
        int32_t function, description;
    } entries[];
};

/* The rule that the executed instructions define. */
struct state {
    enum frame_end end;
    int64_t offset;
    int64_t saved;
    bool saved_at_bp;
    bool lost; /* no rule can express the location of the caller's frame pointer */
};

struct program {
    const uint8_t *at, *end;
};

struct common {
    uint64_t step;   /* unit of address advances */
    int64_t measure; /* unit of offsets */
    uint8_t form;    /* encoding of a function's address */
    bool has_more;   /* true if the description has a part with its own length field */
    bool is_signal;
    /* shared instructions, executed before the own instructions of each function */
    struct program first;
};

static uint64_t unsigned_number(const uint8_t **at)
{
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        if (shift < 64)
            number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
}

static int64_t signed_number(const uint8_t **at)
{
    uint64_t number = 0;
    for (unsigned shift = 0;;) {
        uint8_t byte = *(*at)++;
        if (shift < 64)
            number |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte < 0x80)
            return (int64_t)(byte & 0x40 && shift < 64 ? number | ~UINT64_C(0) << shift : number);
    }
}

static uint64_t fixed(const uint8_t **at, size_t bytes)
{
    uint64_t number = 0;
    memcpy(&number, *at, bytes);
    *at += bytes;
    return number;
}

static uint64_t pointer(const uint8_t **at, uint8_t form)
{
    uint64_t here = (form & FROM) == FROM_HERE ? (uintptr_t)*at : 0;
    switch (form & FORM) {
    case FORM_ULEB:
        return here + unsigned_number(at);
    case FORM_ULEB | FORM_SIGNED:
        return here + (uint64_t)signed_number(at);
    case FORM_2:
    case FORM_2 | FORM_SIGNED:
        return here + (uint64_t)(int16_t)fixed(at, 2);
    case FORM_4:
        return here + fixed(at, 4);
    case FORM_4 | FORM_SIGNED:
        return here + (uint64_t)(int32_t)fixed(at, 4);
    default:
        return here + fixed(at, 8);
    }
}

/* Returns the description of the function that contains an instruction, or NULL. */
static const uint8_t *description_of(uintptr_t instruction)
{
    enum { HERE_SIGNED_4 = 0x1b, COUNT_4 = 0x03, HEADER_SIGNED_4 = 0x3b };
    struct dl_find_object found;
    if (_dl_find_object((void *)instruction, &found) != 0 || found.dlfo_eh_frame == NULL)
        return NULL;
    const struct sorted *sorted = found.dlfo_eh_frame;
    if (sorted->version != 1 || sorted->pointer_form != HERE_SIGNED_4 ||
        sorted->count_form != COUNT_4 || sorted->entry_form != HEADER_SIGNED_4)
        return NULL;
    int64_t wanted = (int64_t)(instruction - (uintptr_t)sorted);
    uint32_t below = 0, above = sorted->count; /* invariant: the last entry at or before the
                                                * instruction is in [below, above) */
    while (above - below > 1) {
        uint32_t middle = below + (above - below) / 2;
        if (sorted->entries[middle].function <= wanted)
            below = middle;
        else
            above = middle;
    }
    if (above == 0 || sorted->entries[below].function > wanted)
        return NULL;
    return (const uint8_t *)sorted + sorted->entries[below].description;
}

/* Reads the common part of several functions' descriptions. Returns false if its augmentation is
 * unknown. */
static bool read_common(const uint8_t *at, struct common *common)
{
    uint64_t bytes = fixed(&at, 4);
    const uint8_t *end = at + bytes;
    at += 4; /* an identifier of zero marks a shared part, not the description of a function */
    uint8_t version = *at++;
    const char *kinds = (const char *)at;
    at += strlen(kinds) + 1;
    *common = (struct common){.step = unsigned_number(&at), .measure = signed_number(&at)};
    uint64_t return_address = version == 1 ? *at++ : unsigned_number(&at);
    common->has_more = *kinds == 'z';
    const uint8_t *instructions = at;
    if (common->has_more) {
        uint64_t more = unsigned_number(&at);
        instructions = at + more;
        kinds++;
    }
    for (; *kinds != '\0'; kinds++) {
        if (*kinds == 'R') {
            common->form = *at++;
        } else if (*kinds == 'P') {
            uint8_t form = *at++;
            pointer(&at, form);
        } else if (*kinds == 'L') {
            at++;
        } else if (*kinds == 'S') {
            common->is_signal = true;
        } else {
            return false;
        }
    }
    common->first = (struct program){instructions, end};
    return bytes != UINT32_MAX && return_address == RETURN_ADDRESS;
}

static void define_end(struct state *state, uint64_t number, int64_t offset)
{
    state->end = number == SP ? END_SP : number == BP ? END_BP : END_UNKNOWN;
    state->offset = offset;
}

/* Supports only the two expressions that functions with aligned stacks use: breg6 (the frame
 * pointer and an offset), and breg6 followed by deref. */
static void define_by_expression(struct state *state, const uint8_t *at, const uint8_t *end)
{
    enum { FRAME_POINTER_AND = 0x76, DEREFERENCE = 0x06 };
    state->end = END_UNKNOWN;
    if (*at++ != FRAME_POINTER_AND)
        return;
    state->offset = signed_number(&at);
    if (at + 1 == end && *at == DEREFERENCE)
        state->end = END_AT_BP;
}

static void save_by_expression(struct state *state, const uint8_t *at, const uint8_t *end)
{
    state->saved_at_bp = end - at == 2 && at[0] == 0x76 && at[1] == 0;
    state->lost |= !state->saved_at_bp;
}

static void save(struct state *state, uint64_t number, int64_t offset)
{
    if (number == BP) {
        state->saved = offset;
        state->saved_at_bp = false;
    }
}

static void restore(struct state *state, uint64_t number, const struct state *first)
{
    if (number == BP) {
        state->saved = first->saved;
        state->saved_at_bp = first->saved_at_bp;
    }
}

/* Executes an instruction that advances the address. This function and the next two return true if
 * the instruction was of their kind. `number` is the operand in the code byte, if any. */
static bool go_on(uint8_t code, uint64_t number, const uint8_t **at, const struct common *common,
                  uintptr_t *address)
{
    switch (code) {
    case 0x40: /* advance_loc, then its forms with one, two and four bytes */
        *address += number * common->step;
        return true;
    case 0x02:
    case 0x03:
    case 0x04:
        *address += fixed(at, (size_t)1 << (code - 0x02)) * common->step;
        return true;
    case 0x01: /* set_loc */
        *address = pointer(at, common->form);
        return true;
    default:
        return false;
    }
}

/* Executes an instruction that sets the location of a register. */
static bool change_register(uint8_t code, uint64_t number, const uint8_t **at, int64_t measure,
                            const struct state *first, struct state *state)
{
    uint64_t length;
    if (code < 0x40)
        number = unsigned_number(at);
    switch (code) {
    case 0x80: /* offset, then its extended and its signed form */
    case 0x05:
        save(state, number, (int64_t)unsigned_number(at) * measure);
        return true;
    case 0x11:
        save(state, number, signed_number(at) * measure);
        return true;
    case 0xc0: /* restore, then its extended form */
    case 0x06:
        restore(state, number, first);
        return true;
    case 0x07: /* undefined: a frame without a return address has no caller */
        state->end = number == RETURN_ADDRESS ? END_OF_STACK : state->end;
        return true;
    case 0x08: /* same_value */
        save(state, number, 0);
        return true;
    case 0x10: /* expression */
        length = unsigned_number(at);
        if (number == BP)
            save_by_expression(state, *at, *at + length);
        else
            state->lost |= number == RETURN_ADDRESS;
        *at += length;
        return true;
    default:
        return false;
    }
}

/* Executes an instruction that sets the end of the frame. */
static bool change_end(uint8_t code, const uint8_t **at, int64_t measure, struct state *state)
{
    uint64_t number;
    switch (code) {
    case 0x0c: /* def_cfa, then its partial and its signed forms */
        number = unsigned_number(at);
        define_end(state, number, (int64_t)unsigned_number(at));
        return true;
    case 0x12:
        number = unsigned_number(at);
        define_end(state, number, signed_number(at) * measure);
        return true;
    case 0x0d:
        define_end(state, unsigned_number(at), state->offset);
        return true;
    case 0x0e:
        state->offset = (int64_t)unsigned_number(at);
        return true;
    case 0x13:
        state->offset = signed_number(at) * measure;
        return true;
    case 0x0f: /* def_cfa_expression */
        number = unsigned_number(at);
        define_by_expression(state, *at, *at + number);
        *at += number;
        return true;
    default:
        return false;
    }
}

/* Executes the instructions that apply at or before the address `instruction`. */
static void carry_out(struct program program, const struct common *common, uintptr_t address,
                      uintptr_t instruction, struct state *state)
{
    struct state first = *state, remembered[MAX_REMEMBERED];
    unsigned depth = 0;
    const uint8_t *at = program.at;
    while (at < program.end && address <= instruction && !state->lost) {
        uint8_t code = *at++;
        uint64_t number = code & 0x3f;
        code = code & 0xc0 ? code & 0xc0 : code;
        if (code == 0x00) /* nop */
            continue;
        if (code == 0x2e) { /* GNU_args_size */
            unsigned_number(&at);
        } else if (code == 0x0a) { /* remember_state */
            state->lost = depth == MAX_REMEMBERED;
            if (!state->lost)
                remembered[depth++] = *state;
        } else if (code == 0x0b) { /* restore_state */
            state->lost = depth == 0;
            if (!state->lost)
                *state = remembered[--depth];
        } else if (!go_on(code, number, &at, common, &address) &&
                   !change_end(code, &at, common->measure, state) &&
                   !change_register(code, number, &at, common->measure, &first, state)) {
            state->lost = true;
        }
    }
}

static struct rule as_rule(const struct state *state)
{
    struct rule rule = {(int32_t)state->offset, (int16_t)state->saved, (uint16_t)state->end};
    bool aligned = state->end == END_AT_BP;
    if (state->lost || rule.offset != state->offset || rule.saved != state->saved ||
        aligned != state->saved_at_bp)
        return (struct rule){.end = END_UNKNOWN};
    return rule;
}

struct rule rule_at(uintptr_t instruction)
{
    struct common common;
    const uint8_t *at = description_of(instruction);
    if (at == NULL)
        return (struct rule){.end = END_UNKNOWN};
    uint64_t bytes = fixed(&at, 4);
    const uint8_t *end = at + bytes;
    const uint8_t *shared = at - *(const int32_t *)at;
    at += 4;
    if (bytes == UINT32_MAX || !read_common(shared, &common))
        return (struct rule){.end = END_UNKNOWN};
    if (common.is_signal)
        return (struct rule){.end = END_SIGNAL};
    uintptr_t start = pointer(&at, common.form);
    uint64_t length = pointer(&at, common.form & FORM);
    if (instruction - start >= length)
        return (struct rule){.end = END_UNKNOWN};
    if (common.has_more) {
        uint64_t more = unsigned_number(&at);
        at += more;
    }
    struct state state = {.end = END_UNKNOWN};
    carry_out(common.first, &common, start, instruction, &state);
    carry_out((struct program){at, end}, &common, start, instruction, &state);
    return as_rule(&state);
}

#endif
