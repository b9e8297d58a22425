/* Encoding of a stream's records, shared by the preload library and the reader.
 *
 * A record is a tag followed by an address, a size, and so on, depending on its kind. The tag's
 * lowest two bits are the kind. Numbers are varints: seven bits per byte, lowest bits first, with
 * the highest bit set if more bytes follow. Signed numbers are folded first: 0 -1 1 -2 2 ...
 *
 * Almost all addresses are multiples of 16, so they are written in granules of 16 bytes, in one of
 * two forms. Programs free recent allocations, and allocators reuse recent frees. Therefore the
 * writer and the reader both remember the last granule with each value of the lowest bits. If the
 * remembered granule is the wanted one, its lowest bits identify it, and the tag and the address
 * need two bytes (NEAR). Otherwise the address is written as a distance from the last allocated or
 * the last released granule.
 *
 * Every record has a number from a counter of the process. The numbers define the global order. A
 * number is written only if it does not follow the stream's previous number; it is written as a
 * gap. */
#ifndef SIMALLOC_RECORDING_CODEC_H
#define SIMALLOC_RECORDING_CODEC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum kind {
    KIND_MALLOC = 0,  /* numbered after malloc has returned */
    KIND_FREE = 1,    /* numbered before free is called */
    KIND_REALLOC = 2, /* numbered before realloc is called: old address, new size */
    KIND_SPECIAL = 3, /* enum special, from bit TAG_SPECIAL_SHIFT of the tag on */
};

/* Each of the first four records ends the latest realloc that began in the stream, and is numbered
 * after the realloc. */
enum special {
    SPECIAL_STAYED,   /* the address is unchanged */
    SPECIAL_MOVED,    /* the new address follows */
    SPECIAL_FAILED,   /* realloc returned NULL and did nothing */
    SPECIAL_RELEASED, /* realloc to 0 bytes that freed the object */
    SPECIAL_THREAD,   /* the thread that writes from here on */
    SPECIAL_ALIGNMENT, /* alignment of the next malloc in bytes */
    SPECIAL_OFFSET,    /* offset of the next address from a multiple of 16 */
    SPECIAL_PLACE,     /* place number, offset in its module, length of the module's path, path; for
                        * Python: line, length, then the function's name, a zero byte and its
                        * file */
    SPECIAL_ZEROED,    /* the next malloc is a calloc */
    SPECIAL_THREAD_END, /* the thread that writes has ended */
    SPECIAL_MEMORY, /* nanoseconds since the recording began, resident and mapped bytes */
    SPECIAL_UNWRITTEN, /* address of a live block, number of its bytes that were never written */
    SPECIAL_NODE,       /* site number, calling site (or 0), place number */
};

enum {
    TAG_KIND = 3,
    TAG_GAP = 4,
    TAG_NEAR = 8,
    TAG_ADDRESS_SHIFT = 4,
    TAG_SPECIAL_SHIFT = 3,
    /* number of a distance's bits in the tag; the next bit is set if more bits follow */
    FAR_BITS = 3,
    GRANULE_SHIFT = 4,
    NEAR_BITS = 12,
    NEAR_PLACES = 1 << NEAR_BITS,
    EVENT_BYTES = 128, /* maximum bytes of an event with the specials before it */
};

struct codec {
    uint64_t next_sequence; /* next number without a gap */
    uint64_t time;          /* time of the last event on the monotonic clock */
    uint64_t allocated;     /* last allocated granule */
    uint64_t released;      /* last granule freed or reallocated */
    uint64_t near[NEAR_PLACES]; /* near[g % NEAR_PLACES] is the last granule g with these lowest
                                 * bits */
};

static inline uint64_t fold(uint64_t difference)
{
    return (difference << 1) ^ (uint64_t)-(int64_t)(difference >> 63);
}

static inline uint64_t unfold(uint64_t folded)
{
    return (folded >> 1) ^ (uint64_t)-(int64_t)(folded & 1);
}

static inline uint8_t *put_number(uint8_t *out, uint64_t number)
{
    while (number >= 0x80) {
        *out++ = (uint8_t)(number | 0x80);
        number >>= 7;
    }
    *out++ = (uint8_t)number;
    return out;
}

static inline uint8_t *put_special(uint8_t *out, enum special special)
{
    *out++ = (uint8_t)(KIND_SPECIAL | (unsigned)special << TAG_SPECIAL_SHIFT);
    return out;
}

static inline uint8_t *put_far(uint8_t *out, unsigned tag, uint64_t distance)
{
    enum { FIRST = 1 << FAR_BITS };
    unsigned low = (unsigned)(distance & (FIRST - 1)) | (distance >= FIRST ? (unsigned)FIRST : 0);
    *out++ = (uint8_t)(tag | low << TAG_ADDRESS_SHIFT);
    return distance >= FIRST ? put_number(out, distance >> FAR_BITS) : out;
}

/* Writes a tag with an address. The caller must not have set TAG_NEAR. */
static inline uint8_t *put_address(struct codec *codec, uint8_t *out, unsigned tag,
                                   uint64_t granule, uint64_t *last)
{
    uint64_t low = granule % NEAR_PLACES;
    uint64_t distance = fold(granule - *last);
    *last = granule;
    if (codec->near[low] == granule) {
        uint16_t word = (uint16_t)(tag | TAG_NEAR | low << TAG_ADDRESS_SHIFT);
        memcpy(out, &word, sizeof word);
        return out + sizeof word;
    }
    codec->near[low] = granule;
    return put_far(out, tag, distance);
}

#endif
