// Values of a Summary message.
#include "io/summary.h"

#include <string.h>

// Field numbers of Summary and Summary.Value.
enum {
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1,
    VALUE_SIMPLE = 2,
    VALUE_HISTOGRAM = 5
};

static size_t bytes_field_size(uint32_t field, size_t len)
{
    return bd_wire_varint_size((uint64_t)field << 3) + bd_wire_varint_size(len) + len;
}

void bd_summary_put_scalar(bd_wire_writer *out, const char *tag, float value)
{
    uint8_t bytes[4];
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    bd_wire_put_tag(out, SUMMARY_VALUE, BD_WIRE_BYTES);
    bd_wire_put_varint(out, bytes_field_size(VALUE_TAG, strlen(tag)) + 1 + sizeof bytes);
    bd_wire_put_bytes(out, VALUE_TAG, tag, strlen(tag));
    bd_wire_put_tag(out, VALUE_SIMPLE, BD_WIRE_FIXED32);
    bd_wire_put_raw(out, bytes, sizeof bytes);
}

void bd_summary_put_histogram(bd_wire_writer *out, const char *tag, const bd_histogram *h)
{
    bd_message inner;
    bd_wire_writer w;
    bd_message_init(&inner);
    bd_wire_writer_init(&w, &inner);
    bd_histogram_write(h, &w);
    bd_wire_writer_finish(&w);
    bd_wire_put_tag(out, SUMMARY_VALUE, BD_WIRE_BYTES);
    bd_wire_put_varint(out, bytes_field_size(VALUE_TAG, strlen(tag)) +
                                bytes_field_size(VALUE_HISTOGRAM, inner.bytes));
    bd_wire_put_bytes(out, VALUE_TAG, tag, strlen(tag));
    bd_wire_put_tag(out, VALUE_HISTOGRAM, BD_WIRE_BYTES);
    bd_wire_put_varint(out, inner.bytes);
    for (size_t i = 0; i < inner.slice_count; i++)
        bd_wire_put_raw(out, inner.slices[i].data, inner.slices[i].len);
    bd_message_fini(&inner);
}
