#include "decode.h"

/* Unread bytes. `at` becomes NULL if a record extends beyond `end`. */
struct input {
    const uint8_t *at;
    const uint8_t *end;
};

static uint64_t get_number(struct input *input)
{
    uint64_t number = 0;
    const uint8_t *at = input->at;
    for (unsigned shift = 0; at != NULL && at < input->end && shift < 64; shift += 7) {
        number |= (uint64_t)(*at & 0x7f) << shift;
        if (*at++ < 0x80) {
            input->at = at;
            return number;
        }
    }
    input->at = NULL;
    return 0;
}

static unsigned get_byte(struct input *input)
{
    if (input->at == NULL || input->at == input->end) {
        input->at = NULL;
        return 0;
    }
    return *input->at++;
}

/* Reads an address that put_address has written, after its tag. */
static uint64_t get_address(struct codec *codec, struct input *input, unsigned tag, uint64_t *last)
{
    uint64_t low = tag >> TAG_ADDRESS_SHIFT;
    if (tag & TAG_NEAR) {
        low |= (uint64_t)get_byte(input) << (8 - TAG_ADDRESS_SHIFT);
        *last = codec->near[low];
    } else {
        uint64_t distance = low & ((1 << FAR_BITS) - 1);
        if (low >> FAR_BITS)
            distance |= get_number(input) << FAR_BITS;
        *last += unfold(distance);
        codec->near[*last % NEAR_PLACES] = *last;
    }
    return *last << GRANULE_SHIFT;
}

static enum decode_answer get_node(struct input *input, const struct site_listener *listener)
{
    uint64_t number = get_number(input);
    uint64_t parent = get_number(input);
    uint64_t place = get_number(input);
    return input->at == NULL ? DECODE_DAMAGED
                             : listener->node(listener->self, number, parent, place);
}

static enum decode_answer get_place(struct input *input, const struct site_listener *listener)
{
    uint64_t number = get_number(input);
    uint64_t offset = get_number(input);
    uint64_t length = get_number(input);
    if (input->at == NULL || length > (uint64_t)(input->end - input->at))
        return DECODE_DAMAGED;
    const uint8_t *path = input->at;
    input->at += length;
    return listener->place(listener->self, number, offset, path, (size_t)length);
}

/* Reads the specials before a record, and the record's tag. */
static enum decode_answer get_tag(struct decoder *decoder, struct input *input,
                                  const struct site_listener *listener, struct record *record,
                                  unsigned *tag)
{
    enum decode_answer answer = DECODED;
    while (answer == DECODED && input->at != NULL && input->at < input->end) {
        *tag = get_byte(input);
        record->kind = *tag & TAG_KIND;
        record->special = *tag >> TAG_SPECIAL_SHIFT;
        if (record->kind != KIND_SPECIAL || record->special <= SPECIAL_RELEASED ||
            record->special == SPECIAL_THREAD_END || record->special == SPECIAL_MEMORY ||
            record->special == SPECIAL_UNWRITTEN)
            return DECODED;
        if (record->special == SPECIAL_THREAD)
            decoder->thread = (uint32_t)get_number(input);
        else if (record->special == SPECIAL_ALIGNMENT)
            record->alignment = get_number(input);
        else if (record->special == SPECIAL_OFFSET)
            record->address = get_number(input) % (1 << GRANULE_SHIFT);
        else if (record->special == SPECIAL_ZEROED)
            record->zeroed = true;
        else if (record->special == SPECIAL_PLACE)
            answer = get_place(input, listener);
        else if (record->special == SPECIAL_NODE)
            answer = get_node(input, listener);
        else
            return DECODE_DAMAGED;
    }
    return input->at == NULL ? DECODE_DAMAGED : answer == DECODED ? DECODED_ALL : answer;
}

/* Reads the fields that follow the tag, as put_event writes them. */
static void get_fields(struct decoder *decoder, struct input *input, unsigned tag,
                       uint32_t columns, struct record *record)
{
    struct codec *codec = &decoder->codec;
    bool special = record->kind == KIND_SPECIAL;
    if (special && record->special == SPECIAL_MOVED)
        record->address += get_address(codec, input, get_byte(input), &codec->allocated);
    else if (record->kind == KIND_MALLOC)
        record->address += get_address(codec, input, tag, &codec->allocated);
    else if (!special)
        record->address += get_address(codec, input, tag, &codec->released);
    record->sequence = codec->next_sequence + (tag & TAG_GAP ? unfold(get_number(input)) : 0);
    codec->next_sequence = record->sequence + 1;
    if (record->kind == KIND_MALLOC || record->kind == KIND_REALLOC)
        record->size = get_number(input);
    if (!special && columns & COLUMN_TIME)
        codec->time += get_number(input);
    record->time = codec->time;
    if (special && record->special == SPECIAL_MEMORY) {
        record->time = get_number(input);
        record->resident = get_number(input);
        record->mapped = get_number(input);
    }
    if (special && record->special == SPECIAL_UNWRITTEN) {
        record->address = get_number(input);
        record->size = get_number(input);
    }
    if ((record->kind == KIND_MALLOC || record->kind == KIND_REALLOC) && columns & COLUMN_SITE)
        record->site = (uint32_t)get_number(input);
    record->thread = decoder->thread;
}

static const struct segment_header *segment_at(const struct recording *recording,
                                               const struct span *span)
{
    return (const struct segment_header *)(recording->bytes + span->offset);
}

static uint64_t committed_in(const struct recording *recording, const struct span *span)
{
    return __atomic_load_n(&segment_at(recording, span)->committed, __ATOMIC_ACQUIRE);
}

enum decode_answer decode_next(struct decoder *decoder, const struct recording *recording,
                               const struct spans *spans, const struct site_listener *listener,
                               struct record *record)
{
    while (decoder->span < spans->count) {
        const struct span *span = &spans->span[decoder->span];
        uint64_t committed = committed_in(recording, span);
        if (committed > span->room || committed < decoder->position)
            return DECODE_DAMAGED;
        const uint8_t *records = (const uint8_t *)(segment_at(recording, span) + 1);
        struct input input = {records + decoder->position, records + committed};
        unsigned tag = 0;
        *record = (struct record){0};
        enum decode_answer answer = get_tag(decoder, &input, listener, record, &tag);
        if (answer == DECODED)
            get_fields(decoder, &input, tag, recording->header.columns, record);
        if (input.at == NULL)
            return DECODE_DAMAGED;
        decoder->position = (uint64_t)(input.at - records);
        if (answer != DECODED_ALL)
            return answer;
        if (decoder->span + 1 == spans->count)
            return DECODED_ALL;
        decoder->span++;
        decoder->position = 0;
    }
    return DECODED_ALL;
}
