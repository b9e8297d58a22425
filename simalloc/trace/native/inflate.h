/* Decompression of deflate streams (RFC 1951) that lie in memory as a whole.
 *
 * zlib's inflate takes its input in pieces and so goes slower than a processor can: this takes half
 * the time. It believes nothing: it never reads or writes outside what it is given. */
#ifndef SIMALLOC_INFLATE_H
#define SIMALLOC_INFLATE_H

#include <stddef.h>
#include <stdint.h>

enum inflated {
    INFLATED,
    INFLATE_DAMAGED,  /* it is no deflate stream, or ends too early */
    INFLATE_TOO_LONG, /* there are more than `capacity` bytes in it */
};

/* Decompresses a stream of `length` bytes; `*made` says how many came of it. What comes after its
 * last block is ignored. */
enum inflated inflate_all(const uint8_t *stream, size_t length, uint8_t *out, size_t capacity,
                          size_t *made);

#endif
