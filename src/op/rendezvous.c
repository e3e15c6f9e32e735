// Keys of the rendezvous: SRC_DEVICE;SRC_INCARNATION_HEX;DST_DEVICE;EDGE_NAME;FRAME_ID:ITER_ID.
#include "op/rendezvous.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/strbuf.h"
#include <string.h>

#define HEX_DIGITS 16

static char *put(char *out, const char *text, size_t len)
{
    memcpy(out, text, len);
    return out + len;
}

char *bd_rendezvous_key_format(const char *src_device, uint64_t src_incarnation, const char *dst_device,
                               const char *edge, uint64_t frame, int64_t iteration)
{
    const size_t src_len = strlen(src_device), dst_len = strlen(dst_device), edge_len = strlen(edge);
    char *text = bd_malloc(src_len + dst_len + edge_len + HEX_DIGITS + 2 * BD_DECIMAL_MAX + sizeof ";;;;:");
    char *at = put(text, src_device, src_len);
    *at++ = ';';
    for (int shift = 60; shift >= 0; shift -= 4)
        *at++ = "0123456789abcdef"[src_incarnation >> shift & 15];
    *at++ = ';';
    at = put(at, dst_device, dst_len);
    *at++ = ';';
    at = put(at, edge, edge_len);
    *at++ = ';';
    at = bd_put_uint64(at, frame);
    *at++ = ':';
    *bd_put_int64(at, iteration) = 0;
    return text;
}

bd_rendezvous_key bd_rendezvous_key_of(const char *text)
{
    size_t len = strlen(text);
    return (bd_rendezvous_key){.text = text, .len = len, .hash = bd_hash_bytes(text, len)};
}

static bool parse_hex(const char *text, size_t len, uint64_t *out)
{
    uint64_t value = 0;
    if (len == 0 || len > 16) return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        int digit;
        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if (c >= 'a' && c <= 'f')
            digit = c - 'a' + 10;
        else if (c >= 'A' && c <= 'F')
            digit = c - 'A' + 10;
        else
            return false;
        value = value << 4 | (uint64_t)digit;
    }
    *out = value;
    return true;
}

static bool is_digits(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
    }
    return len > 0 && len <= 20;
}

// "FRAME_ID:ITER_ID"
static bool is_frame_and_iteration(const char *text, size_t len)
{
    const char *colon = memchr(text, ':', len);
    if (!colon) return false;
    size_t frame_len = (size_t)(colon - text);
    return is_digits(text, frame_len) && is_digits(colon + 1, len - frame_len - 1);
}

static bool is_device(const char *text, size_t len)
{
    return len > 5 && memcmp(text, "/job:", 5) == 0;
}

braid_code bd_rendezvous_key_parse(const char *text, size_t len, bd_rendezvous_parsed_key *parsed,
                                   braid_status *st)
{
    enum {
        PIECES = 5
    };
    const char *piece[PIECES];
    size_t piece_len[PIECES];
    int count = 0;
    const char *rest = text, *end = text + len;
    for (;;) {
        const char *separator = memchr(rest, ';', (size_t)(end - rest));
        const char *stop = separator ? separator : end;
        if (count < PIECES) {
            piece[count] = rest;
            piece_len[count] = (size_t)(stop - rest);
        }
        count++;
        if (!separator) break;
        rest = separator + 1;
    }
    *parsed = (bd_rendezvous_parsed_key){0};
    if (count != PIECES || !is_device(piece[0], piece_len[0]) ||
        !parse_hex(piece[1], piece_len[1], &parsed->src_incarnation) || !is_device(piece[2], piece_len[2]) ||
        piece_len[3] == 0 || !is_frame_and_iteration(piece[4], piece_len[4])) {
        int shown = len > 512 ? 512 : (int)len; // as much of a peer's text as a message needs
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Invalid rendezvous key: %.*s", shown, text);
    }
    parsed->src_device = piece[0];
    parsed->src_device_len = piece_len[0];
    parsed->dst_device = piece[2];
    parsed->dst_device_len = piece_len[2];
    parsed->edge = piece[3];
    parsed->edge_len = piece_len[3];
    return BRAID_OK;
}
