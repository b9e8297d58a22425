#include "scan.h"

#include <stdbool.h>
#include <string.h>

/* Where a pattern stopped matching a line, or the end of a line that matched. */
struct outcome {
    const char *at;
    enum scan_trouble trouble;
    bool committed;
};

static unsigned digit_of(char c)
{
    return (unsigned)(unsigned char)c - '0';
}

static unsigned hex_digit_of(char c)
{
    unsigned letter = ((unsigned)(unsigned char)c | 0x20) - 'a';
    return letter < 6 ? letter + 10 : digit_of(c);
}

static const char *blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* The functions below return the end of a number, or its start if the text is not a number. */
static const char *read_natural(const char *at, uint64_t *value, enum scan_trouble *trouble)
{
    const char *start = at;
    uint64_t sum = 0;
    for (unsigned digit; (digit = digit_of(*at)) < 10; at++)
        sum = 10 * sum + digit;
    if (at - start > 19) {
        sum = 0;
        for (const char *again = start; again < at; again++) {
            unsigned digit = digit_of(*again);
            if (sum > (UINT64_MAX - digit) / 10)
                *trouble = SCAN_RANGE;
            sum = 10 * sum + digit;
        }
    }
    *value = sum;
    return at;
}

static const char *decimal(const char *at, int64_t *value, enum scan_trouble *trouble)
{
    uint64_t sum;
    const char *end = read_natural(at, &sum, trouble);
    if (sum > INT64_MAX)
        *trouble = SCAN_RANGE;
    *value = (int64_t)sum;
    return end;
}

static const char *amount(const char *at, int64_t *value, enum scan_trouble *trouble)
{
    uint64_t sum;
    const char *end = read_natural(at, &sum, trouble);
    *value = sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
    return end;
}

static const char *hex(const char *at, int64_t *value, enum scan_trouble *trouble)
{
    uint64_t sum = 0;
    for (unsigned digit; (digit = hex_digit_of(*at)) < 16; at++) {
        if (sum >> 60 != 0)
            *trouble = SCAN_RANGE;
        sum = 16 * sum + digit;
    }
    *value = (int64_t)sum;
    return at;
}

static const char *pointer(const char *at, int64_t *value, enum scan_trouble *trouble)
{
    const char *end;
    if (*at == '#') {
        end = decimal(at + 1, value, trouble);
        return end == at + 1 ? at : end;
    }
    if (strncmp(at, "(nil)", 5) == 0) {
        *value = 0;
        return at + 5;
    }
    if (at[0] == '0' && (at[1] | 0x20) == 'x') {
        end = hex(at + 2, value, trouble);
        return end == at + 2 ? at : end;
    }
    return hex(at, value, trouble);
}

/* Returns the end of the text through the first `stop` of the line, or its start without a
 * `stop`. */
static const char *through(const char *at, uint8_t stop)
{
    const char *start = at;
    while (*at != '\n' && (uint8_t)*at != stop)
        at++;
    return *at == '\n' ? start : at + 1;
}

/* FNV-1a, 64 bits. */
static int64_t hash_of(const char *at, const char *end)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; at < end; at++)
        hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    return (int64_t)hash;
}

static const char *word(const char *at)
{
    while (*at != ' ' && *at != '\t' && *at != '\r' && *at != '\n')
        at++;
    return at;
}

/* Matches a line that ends before `limit` with a newline. No step reads beyond the newline. */
static struct outcome match(const uint8_t *steps, const char *at, const char *limit,
                            int64_t *fields, size_t stride)
{
    enum scan_trouble trouble = SCAN_FINE;
    bool committed = false;
    for (;;) {
        const char *start = at;
        switch ((enum scan_step)*steps++) {
        case SCAN_END:
            at = blanks(at);
            at += *at == '\r';
            return (struct outcome){at, *at == '\n' ? SCAN_FINE : SCAN_MISMATCH, committed};
        case SCAN_DEFAULT:
            fields[steps[0] * stride] = steps[1];
            steps += 2;
            continue;
        case SCAN_PADDING:
            at = blanks(at);
            continue;
        case SCAN_COMMENT:
            at = blanks(at);
            if (*at == '#')
                at = memchr(at, '\n', (size_t)(limit - at));
            continue;
        case SCAN_REST:
            at = memchr(at, '\n', (size_t)(limit - at));
            continue;
        case SCAN_COMMIT:
            committed = true;
            continue;
        case SCAN_THROUGH:
            at = through(at, *steps++);
            break;
        case SCAN_TEXT:
            at = through(at, steps[1]);
            fields[steps[0] * stride] = hash_of(start, at);
            steps += 2;
            break;
        case SCAN_BYTE:
            at += (uint8_t)*at == *steps++;
            break;
        case SCAN_BLANKS:
            at = blanks(at);
            break;
        case SCAN_WORD:
            at = word(at);
            break;
        case SCAN_DECIMAL:
            at = decimal(at, &fields[*steps++ * stride], &trouble);
            break;
        case SCAN_AMOUNT:
            at = amount(at, &fields[*steps++ * stride], &trouble);
            break;
        case SCAN_HEX:
            at = hex(at, &fields[*steps++ * stride], &trouble);
            break;
        case SCAN_POINTER:
            at = pointer(at, &fields[*steps++ * stride], &trouble);
            break;
        }
        if (trouble != SCAN_FINE)
            return (struct outcome){start, trouble, committed};
        if (at == start)
            return (struct outcome){start, SCAN_MISMATCH, committed};
    }
}

/* Matches a line against each pattern in turn. `*kind` is set to the number of the first pattern
 * that matches. */
static struct outcome match_any(const struct scan_patterns *patterns, const char *line,
                                const char *limit, uint8_t *kind, int64_t *fields, size_t stride)
{
    struct outcome furthest = {line, SCAN_MISMATCH, false};
    *kind = 0;
    for (size_t place = 0; place < patterns->length; place += 1 + patterns->steps[place]) {
        struct outcome outcome = match(patterns->steps + place + 1, line, limit, fields, stride);
        if (outcome.trouble == SCAN_FINE || outcome.committed)
            return outcome;
        if (outcome.at > furthest.at)
            furthest = outcome;
        ++*kind;
    }
    return furthest;
}

static const char *after_last_newline(const char *text, size_t length)
{
    while (length > 0 && text[length - 1] != '\n')
        length--;
    return text + length;
}

static void clear_row(struct scan_rows rows, size_t row)
{
    rows.kind[row] = SCAN_NONE;
    for (size_t field = 0; field < rows.field_count; field++)
        rows.fields[field * rows.capacity + row] = 0;
}

struct scan_result scan_lines(const struct scan_patterns *patterns, const char *text, size_t length,
                              struct scan_rows rows, bool lenient)
{
    const char *limit = after_last_newline(text, length);
    const char *line = text;
    struct scan_result result = {0};
    while (line < limit && result.rows < rows.capacity) {
        struct outcome outcome = match_any(patterns, line, limit, &rows.kind[result.rows],
                                           &rows.fields[result.rows], rows.capacity);
        if (outcome.trouble != SCAN_FINE && !lenient) {
            result.trouble = outcome.trouble;
            result.column = (size_t)(outcome.at - line);
            break;
        }
        if (outcome.trouble != SCAN_FINE) {
            clear_row(rows, result.rows);
            outcome.at = memchr(line, '\n', (size_t)(limit - line));
        }
        line = outcome.at + 1;
        result.rows++;
    }
    result.consumed = (size_t)(line - text);
    return result;
}

static char *put_decimal(char *at, int64_t value)
{
    char digits[20];
    size_t count = 0;
    for (uint64_t rest = (uint64_t)value; count == 0 || rest > 0; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

static char *put_line(const uint8_t *steps, char *at, const int64_t *fields, size_t stride)
{
    for (;;)
        switch (*steps++) {
        case SCAN_BYTE:
            *at++ = (char)*steps++;
            break;
        case SCAN_BLANKS:
            *at++ = ' ';
            break;
        case SCAN_DECIMAL:
            at = put_decimal(at, fields[*steps++ * stride]);
            break;
        case SCAN_DEFAULT:
            steps += 2;
            break;
        default:
            *at++ = '\n';
            return at;
        }
}

size_t scan_print(const struct scan_patterns *patterns, struct scan_rows rows, char *text)
{
    const uint8_t *pattern[UINT8_MAX + 1] = {0};
    size_t known = 0;
    for (size_t place = 0; place < patterns->length; place += 1 + patterns->steps[place])
        pattern[known++] = patterns->steps + place + 1;
    char *at = text;
    for (size_t row = 0; row < rows.capacity; row++)
        if (rows.kind[row] < known)
            at = put_line(pattern[rows.kind[row]], at, &rows.fields[row], rows.capacity);
    return (size_t)(at - text);
}
