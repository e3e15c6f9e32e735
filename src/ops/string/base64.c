// EncodeBase64 and DecodeBase64: bytes as text of letters, digits, `-` and `_` (RFC 4648, section 5).
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/string_out.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// ---- EncodeBase64 ----

// Writes the digits of up to three bytes, and padding if asked for; returns how many characters.
static size_t encode_block(const uint8_t *bytes, size_t n, bool pad, char *out)
{
    uint32_t bits = (uint32_t)bytes[0] << 16 | (n > 1 ? (uint32_t)bytes[1] << 8 : 0) | (n > 2 ? bytes[2] : 0);
    for (size_t i = 0; i < 4; i++)
        out[i] = i <= n ? digits[bits >> (18 - 6 * i) & 63] : '=';
    return pad ? 4 : n + 1;
}

static void encode_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    bool pad = bd_node_attr_bool(c->node, "pad");
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &x->shape);
    for (int64_t i = 0; y && i < bd_tensor_count(x) && !bd_interrupted_at(i); i++) {
        const bd_string *s = &bd_tensor_str(x)[i];
        size_t rest = s->len % 3;
        char *out = bd_string_room(c, y, i, s->len / 3 * 4 + (rest == 0 ? 0 : pad ? 4 : rest + 1));
        if (!out) return;
        for (size_t at = 0; at < s->len; at += 3) {
            char block[4];
            size_t left = s->len - at,
                   n = encode_block((const uint8_t *)s->data + at, left < 3 ? left : 3, pad, block);
            memcpy(out, block, n);
            out += n;
        }
    }
}

BD_OP(EncodeBase64) = {
    .signature = "(input: string) -> (output: string)",
    .attrs = "pad:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = encode_run}),
    .doc = "Bytes in the web-safe form of base 64, padded with `=` on request.",
};

// ---- DecodeBase64 ----

static bool decode_digits(const char *text, size_t n, uint32_t *bits)
{
    *bits = 0;
    for (size_t i = 0; i < 4; i++) {
        const char *digit = i < n ? memchr(digits, text[i], 64) : digits;
        if (!digit) return false;
        *bits = *bits << 6 | (uint32_t)(digit - digits);
    }
    return true;
}

static void decode_one(bd_op_ctx *c, const braid_tensor *y, int64_t i, const bd_string *s)
{
    size_t len = s->len;
    // Padding is only that of a last block of four.
    if (len > 0 && len % 4 == 0 && s->data[len - 1] == '=') len -= s->data[len - 2] == '=' ? 2 : 1;
    if (len % 4 == 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Base64 string length cannot be 1 modulo 4.");
        return;
    }
    size_t rest = len % 4;
    char *out = bd_string_room(c, y, i, len / 4 * 3 + (rest ? rest - 1 : 0));
    for (size_t at = 0; out && at < len; at += 4) {
        uint32_t bits;
        size_t n = len - at < 4 ? len - at : 4;
        if (!decode_digits(s->data + at, n, &bits)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid character found in base64.");
            return;
        }
        for (size_t k = 0; k + 1 < n; k++)
            *out++ = (char)(bits >> (16 - 8 * k));
    }
}

static void decode_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &x->shape);
    for (int64_t i = 0; y && i < bd_tensor_count(x) && !bd_op_failed(c) && !bd_interrupted_at(i); i++)
        decode_one(c, y, i, &bd_tensor_str(x)[i]);
}

BD_OP(DecodeBase64) = {
    .signature = "(input: string) -> (output: string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = decode_run}),
    .doc = "The bytes of texts in the web-safe form of base 64, padded or not.",
};
