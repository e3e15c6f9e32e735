// Ops on text in any encoding, through ICU: UnicodeTranscode, UnicodeDecode, UnicodeDecodeWithOffsets,
// UnicodeEncode.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/string_out.h"

#include <string.h>
#include <unicode/uchar.h>
#include <unicode/ucnv.h>
#include <unicode/ucnv_err.h>
#include <unicode/ustring.h>

typedef struct unicode_state {
    const char *input_encoding; // of the node; NULL if it has none
    int output_bits;            // of a unit of the output: 8, 16 or 32
    UChar32 replacement;
    bool is_strict, drops, replaces_controls;
} unicode_state;

static braid_code unicode_create(const braid_op *node, void *state, braid_status *st)
{
    unicode_state *s = state;
    const char *errors = bd_node_attr_string(node, "errors");
    const bd_attr *in = bd_node_attr(node, "input_encoding"), *out = bd_node_attr(node, "output_encoding");
    const bd_attr *controls = bd_node_attr(node, "replace_control_characters");
    int64_t replacement = bd_node_attr_int(node, "replacement_char");
    if (replacement < 0 || replacement > UCHAR_MAX_VALUE)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "replacement_char out of unicode codepoint range: %lld",
                       (long long)replacement);
    *s = (unicode_state){.replacement = (UChar32)replacement,
                         .is_strict = strcmp(errors, "strict") == 0,
                         .drops = strcmp(errors, "ignore") == 0,
                         .replaces_controls = controls && controls->b};
    if (out)
        s->output_bits = strcmp(out->s.data, "UTF-8") == 0       ? 8
                         : strcmp(out->s.data, "UTF-16-BE") == 0 ? 16
                                                                 : 32;
    if (!in) return BRAID_OK;
    s->input_encoding = in->s.data;
    UErrorCode error = U_ZERO_ERROR;
    UConverter *converter = ucnv_open(s->input_encoding, &error);
    ucnv_close(converter);
    if (U_SUCCESS(error)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Could not create converter for input encoding: %s",
                   s->input_encoding);
}

// ---- Reading an encoding ----

// A character of the input: its offset, and whether it was malformed.
typedef bool (*char_fn)(void *arg, UChar32 c, size_t offset, bool is_malformed);

// Reports a malformed piece to the reader; U+FFFD replaces it.
static void note_malformed(const void *context, UConverterToUnicodeArgs *args, const char *units,
                           int32_t length, UConverterCallbackReason reason, UErrorCode *error)
{
    if (reason == UCNV_UNASSIGNED || reason == UCNV_ILLEGAL || reason == UCNV_IRREGULAR)
        *(bool *)context = true;
    UCNV_TO_U_CALLBACK_SUBSTITUTE(NULL, args, units, length, reason, error);
}

// Calls fn for each character of a text, until it returns false.
static bool read_text(UConverter *converter, const bd_string *text, char_fn fn, void *arg)
{
    bool is_malformed = false;
    UErrorCode error = U_ZERO_ERROR;
    if (text->len == 0) return true;
    const char *at = text->data, *end = text->data + text->len;
    ucnv_reset(converter);
    ucnv_setToUCallBack(converter, note_malformed, &is_malformed, NULL, NULL, &error);
    while (at < end) {
        const char *start = at;
        UChar32 c = ucnv_getNextUChar(converter, &at, end, &error);
        if (U_FAILURE(error)) at = end;
        if (!fn(arg, c, (size_t)(start - text->data), is_malformed)) return false;
        is_malformed = false;
    }
    return true;
}

// Whether a character is to be handled as malformed.
static bool is_bad(const unicode_state *s, UChar32 c, bool is_malformed)
{
    return is_malformed || (s->replaces_controls && c <= 0x1f);
}

// ---- UTF-16 that grows ----

typedef struct wide {
    UChar *units; // owned
    int32_t len, cap;
} wide;

// ICU counts in int32, and a unit may be three bytes of UTF-8.
#define WIDE_MAX (INT32_MAX / 4)

static bool wide_append(wide *w, UChar32 c)
{
    if (w->len + 2 > w->cap) {
        int32_t cap = w->cap ? w->cap * 2 : 64;
        UChar *units = cap <= WIDE_MAX ? bd_try_realloc(w->units, (size_t)cap * sizeof *units) : NULL;
        if (!units) return false;
        w->units = units;
        w->cap = cap;
    }
    // other values are not characters
    if (c >= 0 && c <= UCHAR_MAX_VALUE) U16_APPEND_UNSAFE(w->units, w->len, c);
    return true;
}

static char *put_be(char *out, uint32_t value, int bits)
{
    for (int shift = bits - 8; shift >= 0; shift -= 8)
        *out++ = (char)(value >> shift);
    return out;
}

// Element `i` of `y`: the text in the output's encoding. False: the kernel has failed.
static bool put_text(bd_op_ctx *c, const braid_tensor *y, int64_t i, const wide *w)
{
    const unicode_state *s = c->state;
    UErrorCode error = U_ZERO_ERROR;
    int32_t size = 0, none = 0;
    if (w->len == 0) return bd_string_put(c, y, i, NULL, 0);
    if (s->output_bits == 8)
        u_strToUTF8WithSub(NULL, 0, &size, w->units, w->len, 0xfffd, &none, &error);
    else
        size = s->output_bits == 16 ? w->len * 2 : u_countChar32(w->units, w->len) * 4;
    char *out = size >= 0 ? bd_string_room(c, y, i, (size_t)size) : NULL;
    if (!out) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "A text of %d units is too long to be encoded", (int)w->len);
        return false;
    }
    error = U_ZERO_ERROR;
    if (s->output_bits == 8) u_strToUTF8WithSub(out, size, NULL, w->units, w->len, 0xfffd, &none, &error);
    for (int32_t at = 0; s->output_bits != 8 && at < w->len;) {
        UChar32 unit = w->units[at];
        if (s->output_bits == 16)
            at++;
        else
            U16_NEXT(w->units, at, w->len, unit);
        out = put_be(out, (uint32_t)unit, s->output_bits);
    }
    return true;
}

static UConverter *open_converter(bd_op_ctx *c)
{
    const unicode_state *s = c->state;
    UErrorCode error = U_ZERO_ERROR;
    UConverter *converter = ucnv_open(s->input_encoding, &error);
    if (U_SUCCESS(error)) return converter;
    ucnv_close(converter);
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Could not create converter for input encoding: %s",
               s->input_encoding);
    return NULL;
}

static void fail_strict(bd_op_ctx *c, int64_t i)
{
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid formatting on input string: element %lld", (long long)i);
}

// ---- UnicodeTranscode ----

typedef struct transcoding {
    bd_op_ctx *c;
    wide text;
    int64_t i;
} transcoding;

static bool transcode_char(void *arg, UChar32 ch, size_t offset, bool is_malformed)
{
    transcoding *t = arg;
    const unicode_state *s = t->c->state;
    (void)offset;
    if (is_bad(s, ch, is_malformed)) {
        if (s->is_strict) {
            fail_strict(t->c, t->i);
            return false;
        }
        if (s->drops) return true;
        ch = s->replacement;
    }
    if (wide_append(&t->text, ch)) return true;
    bd_op_fail(t->c, BRAID_RESOURCE_EXHAUSTED, "OOM when decoding a string");
    return false;
}

static void transcode_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &x->shape);
    UConverter *converter = y ? open_converter(c) : NULL;
    transcoding t = {.c = c};
    for (; converter && t.i < bd_tensor_count(x) && !bd_interrupted_at(t.i); t.i++) {
        t.text.len = 0;
        if (!read_text(converter, &bd_tensor_str(x)[t.i], transcode_char, &t) ||
            !put_text(c, y, t.i, &t.text))
            break;
    }
    bd_free(t.text.units);
    ucnv_close(converter);
}

BD_OP(UnicodeTranscode) = {
    .signature = "(input: string) -> (output: string)",
    .attrs = "input_encoding:string; output_encoding:string{UTF-8,UTF-16-BE,UTF-32-BE}; "
             "errors:string{strict,replace,ignore}='replace'; replacement_char:int=65533; "
             "replace_control_characters:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels =
        BD_KERNELS({.state_size = sizeof(unicode_state), .create = unicode_create, .run = transcode_run}),
    .doc = "Texts in one of Unicode's encodings, made from any encoding that ICU knows.",
};

// ---- UnicodeDecode, UnicodeDecodeWithOffsets ----

typedef struct decoding {
    bd_op_ctx *c;
    int32_t *chars;   // owned, as the next
    int64_t *offsets; // in the string
    size_t len, cap;
    int64_t i;
} decoding;

static bool grow(decoding *d)
{
    size_t cap = d->cap ? d->cap * 2 : 256;
    int32_t *chars = bd_try_realloc(d->chars, cap * sizeof *chars);
    if (chars) d->chars = chars;
    int64_t *offsets = chars ? bd_try_realloc(d->offsets, cap * sizeof *offsets) : NULL;
    if (offsets) d->offsets = offsets;
    if (offsets) d->cap = cap;
    return offsets != NULL;
}

static bool decode_char(void *arg, UChar32 ch, size_t offset, bool is_malformed)
{
    decoding *d = arg;
    const unicode_state *s = d->c->state;
    if (s->is_strict && is_malformed) {
        fail_strict(d->c, d->i);
        return false;
    }
    if (is_bad(s, ch, is_malformed)) {
        if (s->drops) return true;
        ch = s->replacement;
    }
    if (d->len == d->cap && !grow(d)) {
        bd_op_fail(d->c, BRAID_RESOURCE_EXHAUSTED, "OOM when decoding more than %zu characters", d->len);
        return false;
    }
    d->chars[d->len] = ch;
    d->offsets[d->len++] = (int64_t)offset;
    return true;
}

static bool put_split(bd_op_ctx *c, const braid_tensor *splits, int64_t i, size_t value)
{
    if (splits->dtype == BRAID_INT64) {
        bd_tensor_i64(splits)[i] = (int64_t)value;
        return true;
    }
    if (value > INT32_MAX)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%zu characters are too many for row_splits of int32", value);
    bd_tensor_i32(splits)[i] = (int32_t)value;
    return value <= INT32_MAX;
}

static void output_chars(bd_op_ctx *c, const decoding *d)
{
    braid_shape shape = bd_shape1((int64_t)d->len);
    braid_tensor *chars = bd_output(c, 1, BRAID_INT32, &shape);
    braid_tensor *offsets = c->output_count > 2 ? bd_output(c, 2, BRAID_INT64, &shape) : NULL;
    if (chars && d->len > 0) memcpy(chars->data, d->chars, d->len * sizeof *d->chars);
    if (offsets && d->len > 0) memcpy(offsets->data, d->offsets, d->len * sizeof *d->offsets);
}

static void decode_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_shape shape = bd_shape1(bd_tensor_count(x) + 1);
    braid_tensor *splits = bd_output(c, 0, c->node->output_types[0], &shape);
    UConverter *converter = splits ? open_converter(c) : NULL;
    decoding d = {.c = c};
    bool ok = converter && put_split(c, splits, 0, 0);
    for (; ok && d.i < bd_tensor_count(x) && !bd_interrupted_at(d.i); d.i++)
        ok = read_text(converter, &bd_tensor_str(x)[d.i], decode_char, &d) &&
             put_split(c, splits, d.i + 1, d.len);
    if (ok) output_chars(c, &d);
    bd_free(d.chars);
    bd_free(d.offsets);
    ucnv_close(converter);
}

static braid_code decode_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    bool known = bd_shape_is_known(&c->inputs[0]);
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = bd_shape1(-1);
    if (known) c->outputs[0] = bd_shape1(bd_shape_count(&c->inputs[0]) + 1);
    return BRAID_OK;
}

#define DECODE_ATTRS                                                                                         \
    "input_encoding:string; errors:string{strict,replace,ignore}='replace'; replacement_char:int=65533; "    \
    "replace_control_characters:bool=false; Tsplits:type{int32,int64}=int64"

BD_OP(UnicodeDecode) = {
    .signature = "(input: string) -> (row_splits: Tsplits, char_values: int32)",
    .attrs = DECODE_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = decode_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(unicode_state), .create = unicode_create, .run = decode_run}),
    .doc = "The characters of texts in any encoding that ICU knows, as a ragged tensor of code points.",
};

BD_OP(UnicodeDecodeWithOffsets) = {
    .signature = "(input: string) -> (row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64)",
    .attrs = DECODE_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = decode_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(unicode_state), .create = unicode_create, .run = decode_run}),
    .doc = "UnicodeDecode, and at which byte of its text each character begins.",
};

// ---- UnicodeEncode ----

static bool check_splits(bd_op_ctx *c, const braid_tensor *splits, int64_t size)
{
    int64_t before = 0;
    if (bd_input(c, 0)->shape.rank != 1 || splits->shape.rank != 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input_values and input_splits must be vectors");
    else if (bd_tensor_count(splits) == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input_splits should contain elements, but given input_values has 0 elements");
    for (int64_t i = 0; i < bd_tensor_count(splits) && !bd_op_failed(c) && !bd_interrupted_at(i); i++) {
        int64_t at = bd_tensor_index(splits, i);
        if (at < before)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Values in input_splits must be equal or in ascending order: %lld after %lld",
                       (long long)at, (long long)before);
        else if (at > size)
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "Values in input_splits must be less than or equal to input_tensor length: %lld of %lld",
                (long long)at, (long long)size);
        before = at;
    }
    return !bd_op_failed(c) && !bd_op_interrupted(c);
}

static bool encode_char(bd_op_ctx *c, wide *w, int32_t ch)
{
    const unicode_state *s = c->state;
    if (ch < 0 || ch > UCHAR_MAX_VALUE) {
        if (s->is_strict) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Code point value out of valid Unicode range: %d", (int)ch);
            return false;
        }
        if (!s->drops) ch = s->replacement;
    }
    if (wide_append(w, ch)) return true;
    bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when encoding a string");
    return false;
}

static void encode_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *splits = bd_input(c, 1);
    if (!check_splits(c, splits, bd_tensor_count(x))) return;
    braid_shape shape = bd_shape1(bd_tensor_count(splits) - 1);
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &shape);
    wide text = {0};
    int64_t at = 0; // values before the first split belong to the first text, as in TensorFlow
    for (int64_t i = 0; y && i < bd_tensor_count(y) && !bd_op_failed(c) && !bd_interrupted_at(i); i++) {
        text.len = 0;
        for (; at < bd_tensor_index(splits, i + 1) && !bd_op_failed(c); at++)
            encode_char(c, &text, bd_tensor_i32(x)[at]);
        if (!bd_op_failed(c)) put_text(c, y, i, &text);
    }
    bd_free(text.units);
}

static braid_code encode_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    const braid_shape *splits = &c->inputs[1];
    c->outputs[0] = bd_shape1(splits->rank == 1 && splits->dims[0] > 0 ? splits->dims[0] - 1 : -1);
    return code;
}

BD_OP(UnicodeEncode) = {
    .signature = "(input_values: int32, input_splits: Tsplits) -> (output: string)",
    .attrs =
        "errors:string{ignore,replace,strict}='replace'; output_encoding:string{UTF-8,UTF-16-BE,UTF-32-BE}; "
        "replacement_char:int=65533; Tsplits:type{int32,int64}=int64",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = encode_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(unicode_state), .create = unicode_create, .run = encode_run}),
    .doc = "Texts in one of Unicode's encodings, made from a ragged tensor of code points.",
};
