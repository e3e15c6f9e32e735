// Fuzzes the parsing of Example and SequenceExample messages: as several messages and as single ones, with
// all types of features, and with memory that runs out.
#include "base/alloc.h"
#include "base/check.h"
#include "ops/parsing/sequence_parser.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    SHORT_MEMORY = 1, // bits of the first byte; those from the fourth on say when memory runs out
    PARTS = 2,        // the input is cut into two messages
    CONTEXT = 4,      // errors are those of a SequenceExample's context
    KINDS = 3,
    FEATURES = 2 * KINDS
};

static const braid_dtype dtypes[KINDS] = {BRAID_FLOAT, BRAID_INT64, BRAID_STRING};
static const char *const keys[FEATURES] = {"f", "i", "s", "F", "I", "S"};

// Lets memory run out, if the input says so.
static void starve(uint8_t mode)
{
    bd_alloc_fail_after(mode & SHORT_MEMORY ? mode >> 3 : -1);
}

static void end_tensors(braid_tensor *t, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bd_tensor_fini(&t[i]);
}

static void make_defaults(braid_tensor defaults[KINDS])
{
    for (int i = 0; i < KINDS; i++) {
        BD_ASSERT(bd_tensor_alloc(&defaults[i], dtypes[i], &BD_SCALAR));
        if (dtypes[i] != BRAID_STRING) memset(defaults[i].data, 0, braid_dtype_size(dtypes[i]));
    }
}

// Dense features of any length, and sparse ones.
static void parse_examples(const bd_string *messages, int64_t count, uint8_t mode)
{
    BD_STATUS(st);
    braid_tensor defaults[KINDS] = {0}, t[4 * KINDS] = {0};
    bd_dense_feature dense[KINDS];
    bd_sparse_feature sparse[KINDS];
    make_defaults(defaults);
    for (int i = 0; i < KINDS; i++) {
        dense[i] = (bd_dense_feature){{keys[i], 1}, dtypes[i], bd_shape2(-1, i + 1), &defaults[i]};
        sparse[i] = (bd_sparse_feature){.key = {keys[KINDS + i], 1}, .dtype = dtypes[i]};
    }
    bd_example_spec spec = {dense, sparse, KINDS, KINDS, mode & CONTEXT};
    bd_parsed_examples out = {t, t + KINDS, t + 2 * KINDS, t + 3 * KINDS};
    BD_ASSERT(bd_example_check_defaults(&spec, st) == BRAID_OK);
    starve(mode);
    if (bd_examples_parse(&spec, NULL, messages, NULL, count, &out, st) == BRAID_OK) {
        for (int i = 0; i < KINDS; i++) {
            BD_ASSERT(out.dense[i].shape.dims[0] == count);
            BD_ASSERT(out.indices[i].shape.dims[0] == out.values[i].shape.dims[0]);
        }
    }
    braid_status_clear(st);
    end_tensors(t, BD_COUNTOF(t));
    bd_example_parse_one(&spec, messages, NULL, &out, st);
    bd_alloc_fail_after(-1);
    end_tensors(t, BD_COUNTOF(t));
    end_tensors(defaults, KINDS);
}

static void parse_sequences(const bd_string *messages, int64_t count, bool is_single)
{
    BD_STATUS(st);
    braid_tensor t[5 * KINDS] = {0};
    bd_dense_list dense[KINDS];
    bd_sparse_feature sparse[KINDS];
    for (int i = 0; i < KINDS; i++) {
        dense[i] = (bd_dense_list){{keys[i], 1}, dtypes[i], bd_shape1(i), true};
        sparse[i] = (bd_sparse_feature){.key = {keys[KINDS + i], 1}, .dtype = dtypes[i]};
    }
    bd_sequence_spec spec = {dense, sparse, KINDS, KINDS};
    bd_parsed_sequences out = {t, is_single ? NULL : t + KINDS, t + 2 * KINDS, t + 3 * KINDS, t + 4 * KINDS};
    if (bd_sequences_parse(&spec, messages, NULL, count, is_single, &out, st) == BRAID_OK) {
        for (int i = 0; i < KINDS; i++)
            BD_ASSERT(out.indices[i].shape.dims[0] == out.values[i].shape.dims[0]);
    }
    end_tensors(t, BD_COUNTOF(t));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    uint8_t mode = data[0];
    size_t len = size - 2, cut = (mode & PARTS) ? data[1] % (len + 1) : len;
    const char *text = (const char *)data + 2;
    bd_string messages[2] = {{(char *)text, cut}, {(char *)text + cut, len - cut}};
    int64_t count = (mode & PARTS) ? 2 : 1;
    parse_examples(messages, count, mode);
    starve(mode);
    parse_sequences(messages, count, false);
    parse_sequences(messages, 1, true);
    bd_alloc_fail_after(-1);
    return 0;
}
