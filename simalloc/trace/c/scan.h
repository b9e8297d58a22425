/* Converts lines of text to rows of numbers with patterns that simalloc/trace/formats/grammar.py
 * compiles.
 *
 * A pattern is a sequence of steps that a line must match from start to end. The first pattern that
 * matches determines the kind of the line and its fields. */
#ifndef SIMALLOC_SCAN_H
#define SIMALLOC_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Steps of a pattern. Each step is one byte, followed by the operands after "+". */
enum scan_step {
    SCAN_END,     /* blanks, an optional carriage return, and the end of the line */
    SCAN_BYTE,    /* + byte: that byte */
    SCAN_BLANKS,  /* spaces and tabs, at least one */
    SCAN_PADDING, /* spaces and tabs, or nothing */
    SCAN_DECIMAL, /* + field: a decimal number up to 2^63 - 1 */
    SCAN_HEX,     /* + field: a hexadecimal number of 64 bits without 0x, stored as signed */
    SCAN_POINTER, /* + field: 0x and hexadecimal, hexadecimal, # and decimal, or (nil) */
    SCAN_WORD,    /* at least one byte that is not blank */
    SCAN_THROUGH, /* + byte: all bytes through the first such byte */
    SCAN_REST,    /* all bytes to the end of the line */
    SCAN_DEFAULT, /* + field + byte: default value of a field that the line lacks */
    SCAN_COMMIT,  /* a line that has matched up to here must match this pattern or is invalid */
    SCAN_TEXT,    /* + field + byte: same as SCAN_THROUGH; the field is a hash of the text */
    SCAN_AMOUNT,  /* + field: a decimal number up to 2^64 - 1, stored as at most 2^63 - 1 */
    SCAN_COMMENT, /* optional: spaces and tabs, then an optional # and all bytes to the end of the
                   * line */
};

enum scan_trouble {
    SCAN_FINE,
    SCAN_MISMATCH, /* the line matches no pattern */
    SCAN_RANGE,    /* a number is too large */
};

struct scan_patterns {
    const uint8_t *steps; /* for each pattern: number of bytes, the steps, SCAN_END */
    size_t length;
};

#define SCAN_NONE UINT8_MAX /* kind of a line that matches no pattern */

struct scan_rows {
    size_t capacity;
    size_t field_count;
    uint8_t *kind;   /* number of the pattern that matched, or SCAN_NONE */
    int64_t *fields; /* field f of row r at f * capacity + r */
};

struct scan_result {
    size_t rows;
    size_t consumed; /* bytes of the whole lines that matched */
    enum scan_trouble trouble; /* fault of the line after `consumed` */
    size_t column;             /* column of the fault, counted from 0, in the longest partial
                                * match */
};

/* Scans the whole lines of a text until the text ends, the rows are full, or a line is invalid. If
 * `lenient`, an invalid line produces a row of kind SCAN_NONE without numbers. */
struct scan_result scan_lines(const struct scan_patterns *patterns, const char *text, size_t length,
                              struct scan_rows rows, bool lenient);

/* Prints a row with the pattern of its kind. Only patterns of bytes, blanks and decimal numbers can
 * be printed. Returns the number of bytes written to `text`, which must be large enough. */
size_t scan_print(const struct scan_patterns *patterns, struct scan_rows rows, char *text);

#endif
