/* Lines of text into rows of numbers, by patterns compiled in simalloc/trace/formats/grammar.py.
 *
 * A pattern is a run of instructions that a line must match from its start to its end. The first
 * pattern that matches gives the line's kind, and its numbers the line's fields. */
#ifndef SIMALLOC_SCAN_H
#define SIMALLOC_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each is one byte; those that say so are followed by more. */
enum scan_step {
    SCAN_END,     /* blanks, perhaps a carriage return, and the end of the line */
    SCAN_BYTE,    /* + the byte */
    SCAN_BLANKS,  /* spaces and tabs, at least one */
    SCAN_PADDING, /* spaces and tabs, or nothing */
    SCAN_DECIMAL, /* + field: up to 2^63 - 1 */
    SCAN_HEX,     /* + field: 64 bits, taken as signed, without 0x */
    SCAN_POINTER, /* + field: 0x and hex, hex, # and decimal, or (nil) */
    SCAN_WORD,    /* bytes that are not blank, at least one */
    SCAN_THROUGH, /* + byte: all up to and with the first such byte */
    SCAN_REST,    /* all to the end of the line */
    SCAN_DEFAULT, /* + field + byte: the field's value where the line has none */
    SCAN_COMMIT,  /* a line that came so far is like this pattern or like none */
    SCAN_TEXT,    /* + field + byte: as SCAN_THROUGH; the field is a hash of the text */
    SCAN_AMOUNT,  /* + field: decimal, up to 2^64 - 1; from 2^63 on the field is 2^63 - 1 */
    SCAN_COMMENT, /* spaces and tabs, then perhaps # and all to the end of the line; or nothing */
};

enum scan_trouble {
    SCAN_FINE,
    SCAN_MISMATCH, /* the line is like no pattern */
    SCAN_RANGE,    /* a number is too large */
};

struct scan_patterns {
    const uint8_t *steps; /* patterns in turn: number of bytes, the steps, SCAN_END */
    size_t length;
};

#define SCAN_NONE UINT8_MAX /* the kind of a line that is like no pattern */

struct scan_rows {
    size_t capacity;
    size_t field_count;
    uint8_t *kind;   /* the number of the pattern that matched, or SCAN_NONE */
    int64_t *fields; /* field f of row r at f * capacity + r */
};

struct scan_result {
    size_t rows;
    size_t consumed; /* bytes, all of whole lines that matched */
    enum scan_trouble trouble; /* trouble with the line after `consumed` */
    size_t column;             /* column of the fault, from 0, in the longest partial match */
};

/* Scans the whole lines of a text until it has no more, the rows are full, or a line is wrong. If
 * `lenient`, a line that is wrong is a row like the others, of kind SCAN_NONE and with no numbers. */
struct scan_result scan_lines(const struct scan_patterns *patterns, const char *text, size_t length,
                              struct scan_rows rows, bool lenient);

/* Prints a row as the pattern of its kind has it; only patterns of bytes, blanks and decimal
 * numbers can be printed. Returns the bytes written to `text`, which must have room for them. */
size_t scan_print(const struct scan_patterns *patterns, struct scan_rows rows, char *text);

#endif
