// Ordered code.
#include "io/ordered_code.h"

#include <string.h>

enum {
    SIGNED_BYTES_MAX = 10
};

// ---- Numbers ----

void bd_ordered_put_number(bd_strbuf *out, uint64_t value)
{
    uint8_t bytes[9];
    size_t at = sizeof bytes;
    for (; value > 0; value >>= 8)
        bytes[--at] = (uint8_t)value;
    uint8_t len = (uint8_t)(sizeof bytes - at);
    bytes[--at] = len;
    bd_strbuf_append_n(out, bytes + at, sizeof bytes - at);
}

bool bd_ordered_get_number(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    const uint8_t *p = *at;
    if (p >= end || *p > 8 || *p > end - p - 1) return false;
    size_t len = *p++;
    if (len > 0 && *p == 0) return false; // could be shorter
    *value = 0;
    for (size_t i = 0; i < len; i++)
        *value = *value << 8 | *p++;
    *at = p;
    return true;
}

// ---- Signed numbers ----

// n bytes hold the sign and 7n - 1 bits.
static int signed_length(int64_t value)
{
    uint64_t magnitude = (uint64_t)(value < 0 ? ~value : value);
    int bits = magnitude ? 64 - __builtin_clzll(magnitude) : 0;
    return bits / 7 + 1;
}

// The bits before the payload of an encoding of `len` bytes of a number that is not negative: `len` ones,
// highest first. They reach into the second byte from 8 bytes on.
static void header_bits(int len, uint8_t header[2])
{
    unsigned ones = (0xffffu << (16 - len)) & 0xffff;
    header[0] = (uint8_t)(ones >> 8);
    header[1] = (uint8_t)ones;
}

void bd_ordered_put_signed(bd_strbuf *out, int64_t value)
{
    uint8_t bytes[SIGNED_BYTES_MAX], header[2];
    int len = signed_length(value);
    for (int i = 0; i < SIGNED_BYTES_MAX; i++) { // highest first, the sign extended
        int shift = 8 * (SIGNED_BYTES_MAX - 1 - i);
        bytes[i] = (uint8_t)(shift < 64 ? value >> shift : value >> 63);
    }
    uint8_t *first = bytes + SIGNED_BYTES_MAX - len;
    header_bits(len, header);
    first[0] ^= header[0];
    if (len > 1) first[1] ^= header[1];
    bd_strbuf_append_n(out, first, (size_t)len);
}

// The length in the leading bits, 0 when they are invalid.
static int length_from_header(const uint8_t *p, const uint8_t *end, uint8_t invert)
{
    int len = 0;
    for (; p < end && len <= SIGNED_BYTES_MAX; p++) {
        uint8_t bits = *p ^ invert;
        for (int bit = 7; bit >= 0; bit--, len++)
            if (!(bits >> bit & 1)) return len;
    }
    return 0;
}

bool bd_ordered_get_signed(const uint8_t **at, const uint8_t *end, int64_t *value)
{
    const uint8_t *p = *at;
    if (p >= end) return false;
    uint8_t invert = *p & 0x80 ? 0 : 0xff, header[2]; // a negative number is the other way round
    int len = length_from_header(p, end, invert);
    if (len == 0 || len > SIGNED_BYTES_MAX || len > end - p) return false;
    header_bits(len, header);
    uint64_t bits = invert ? UINT64_MAX : 0;
    for (int i = 0; i < len; i++)
        bits = bits << 8 | (uint8_t)(p[i] ^ (i < 2 ? header[i] : 0));
    if (signed_length((int64_t)bits) != len || ((int64_t)bits < 0) != (invert != 0)) return false;
    if (len == SIGNED_BYTES_MAX) { // the payload's highest bits fall out of the 64: they must be the sign
        if ((uint8_t)(p[0] ^ header[0]) != invert || (uint8_t)(p[1] ^ header[1]) != invert) return false;
    }
    *value = (int64_t)bits;
    *at = p + len;
    return true;
}

// ---- Strings ----

void bd_ordered_put_string(bd_strbuf *out, const void *data, size_t len)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < len; i++) {
        bd_strbuf_append_char(out, (char)bytes[i]);
        if (bytes[i] == 0) bd_strbuf_append_char(out, '\xff');
        if (bytes[i] == 0xff) bd_strbuf_append_char(out, '\0');
    }
    bd_strbuf_append_n(out, "\0\1", 2);
}

bool bd_ordered_get_string(const uint8_t **at, const uint8_t *end, bd_strbuf *out)
{
    const uint8_t *p = *at;
    while (p < end) {
        uint8_t byte = *p++;
        if (byte != 0 && byte != 0xff) {
            bd_strbuf_append_char(out, (char)byte);
            continue;
        }
        if (p == end) return false;
        uint8_t second = *p++;
        if (byte == 0 && second == 1) {
            *at = p;
            return true;
        }
        if ((second ^ byte) != 0xff) return false;
        bd_strbuf_append_char(out, (char)byte);
    }
    return false;
}
