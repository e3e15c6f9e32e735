// Tests of the summary ops.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/png.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"
#include "proto/pack.h"
#include "tensor/tensor_proto.h"
#include "tensorflow/core/framework/summary.pb-c.h"

#include <math.h>
#include <png.h>

// A node over texts.
static braid_op *make_node(op_live *l, const char *op, const char *attrs, const char *const *inputs,
                           int count)
{
    BD_STATUS(st);
    braid_out outs[4];
    for (int i = 0; i < count; i++)
        outs[i] = op_live_unknown(l, inputs[i]);
    braid_op *node = op_test_node(l->graph, op, attrs, outs, count);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    return node;
}

// The result of a run: the bytes, and the message.
typedef struct result {
    op_live *live;
    op_execution *execution;
    bd_proto_arena arena;
    const uint8_t *data;
    size_t len;
    const Tensorflow__Summary *summary;
} result;

static result run_op(const char *op, const char *attrs, const char *const *inputs, int count)
{
    BD_STATUS(st);
    result r = {.live = op_live_new()};
    r.execution = op_live_start(r.live, make_node(r.live, op, attrs, inputs, count), "");
    op_execution_wait(r.execution);
    assert_ok(&r.execution->ctx.status);
    const bd_string *s = bd_tensor_str(&r.execution->ctx.outputs[0].tensor);
    r.data = (const uint8_t *)s->data;
    r.len = s->len;
    r.summary = bd_proto_unpack(&tensorflow__summary__descriptor, r.data, r.len, &r.arena, st);
    assert_ok(st);
    return r;
}
#define RUN(OP, ATTRS, ...)                                                                                  \
    run_op(OP, ATTRS, (const char *const[]){__VA_ARGS__},                                                    \
           (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

static void end(result *r)
{
    bd_proto_arena_fini(&r->arena);
    op_execution_free(r->execution);
    op_live_free(r->live);
}

#define EXPECT_BYTES(R, TEXT)                                                                                \
    do {                                                                                                     \
        assert_int_equal((R).len, sizeof(TEXT) - 1);                                                         \
        assert_memory_equal((R).data, TEXT, sizeof(TEXT) - 1);                                               \
    } while (0)

static void scalars_become_summaries(void **state)
{
    (void)state;
    result r = RUN("ScalarSummary", NULL, "string[] loss", "float[] 1.5");
    EXPECT_BYTES(r, "\x0a\x0b\x0a\x04loss\x15\0\0\xc0\x3f");
    end(&r);
    r = RUN("ScalarSummary", NULL, "string[2] a ''", "int64[2] -2 0");
    EXPECT_BYTES(r, "\x0a\x08\x0a\x01"
                    "a\x15\0\0\0\xc0\x0a\x05\x15\0\0\0\0");
    end(&r);
    r = RUN("ScalarSummary", NULL, "string[] x", "double[1] 0.1");
    assert_true(r.summary->value[0]->simple_value == 0.1F);
    end(&r);
    r = RUN("ScalarSummary", NULL, "string[0]", "float[0]");
    assert_int_equal(r.len, 0);
    end(&r);
}

static void a_histogram_has_the_buckets_of_tensorflow(void **state)
{
    (void)state;
    result r = RUN("HistogramSummary", NULL, "string[] w", "float[2,3] 0.1 -0.7 4.1 4 5 4");
    assert_int_equal(r.summary->n_value, 1);
    assert_string_equal(r.summary->value[0]->tag, "w");
    const Tensorflow__HistogramProto *h = r.summary->value[0]->histo;
    double v[] = {(double)0.1F, (double)-0.7F, (double)4.1F, 4, 5, 4}, sum = 0, squares = 0;
    for (size_t i = 0; i < 6; i++) {
        sum += v[i];
        squares += v[i] * v[i];
    }
    assert_true(h->min == v[1] && h->max == 5 && h->num == 6 && h->sum == sum && h->sum_squares == squares);
    // Between limits that grow by a tenth: runs of empty buckets, then -0.7, 0.1, two 4s and 4.1, 5, and the
    // rest.
    double counts[16];
    int filled = 0;
    assert_int_equal(h->n_bucket, h->n_bucket_limit);
    for (size_t i = 0; i < h->n_bucket; i++)
        if (h->bucket[i] > 0) counts[filled++] = h->bucket[i];
    assert_int_equal(filled, 4);
    assert_true(counts[0] == 1 && counts[1] == 1 && counts[2] == 3 && counts[3] == 1);
    assert_int_equal(h->n_bucket, 9);
    end(&r);
    r = RUN("HistogramSummary", NULL, "string[1] n", "int32[0]");
    assert_true(r.summary->value[0]->histo->num == 0);
    end(&r);
}

static void expect_tensor(const Tensorflow__Summary__Value *v, const char *want)
{
    BD_STATUS(st);
    braid_tensor t;
    size_t len = protobuf_c_message_get_packed_size(&v->tensor->base);
    uint8_t *bytes = bd_malloc(len);
    protobuf_c_message_pack(&v->tensor->base, bytes);
    bd_tensor_proto_parse(bytes, len, &t, st);
    assert_ok(st);
    op_test_expect(&t, want, 0, "the summary's tensor");
    bd_tensor_fini(&t);
    bd_free(bytes);
}

static void tensors_become_summaries(void **state)
{
    (void)state;
    result r = RUN("TensorSummaryV2", NULL, "string[] t", "float[2] 1 2", "string[] \x12\x04name");
    assert_string_equal(r.summary->value[0]->tag, "t");
    assert_string_equal(r.summary->value[0]->metadata->display_name, "name");
    expect_tensor(r.summary->value[0], "float[2] 1 2");
    end(&r);
    r = RUN("TensorSummaryV2", NULL, "string[1] t", "string[2] a b", "string[] ''");
    expect_tensor(r.summary->value[0], "string[2] a b");
    end(&r);
    r = RUN("TensorSummary", NULL, "int64[] 7");
    assert_string_equal(r.summary->value[0]->node_name, "TensorSummary");
    assert_string_equal(r.summary->value[0]->tag, "");
    expect_tensor(r.summary->value[0], "int64[] 7");
    end(&r);
    r = RUN("TensorSummary", NULL, "float[2,0]");
    expect_tensor(r.summary->value[0], "float[2,0]");
    end(&r);
    r = RUN("TensorSummaryV2", NULL, "string[] t", "string[0]", "string[] ''");
    expect_tensor(r.summary->value[0], "string[0]");
    end(&r);
}

static void merged_summaries_keep_their_order(void **state)
{
    (void)state;
    // "x" and a value without a tag; a second value of each and "y".
    const char *inputs[] = {"string[2] ^\x08^\x01x\x15\x01\x01\x80\x3f ^\x05\x15\x01\x01\x01\x01",
                            "string[] ^\x05\x15\x02\x02\x02\x02^\x08^\x01y\x15\x01\x01\x01\x40"};
    result r = run_op("MergeSummary", NULL, inputs, 2);
    EXPECT_BYTES(r, "\n\x08\n\x01x\x15\x01\x01\x80\x3f\n\x05\x15\x01\x01\x01\x01"
                    "\n\x05\x15\x02\x02\x02\x02\n\x08\n\x01y\x15\x01\x01\x01\x40");
    end(&r);
    r = run_op("MergeSummary", NULL, (const char *[]){"string[0]"}, 1);
    EXPECT_BYTES(r, "");
    end(&r);
}

static void expect_merge_error(const char *a, const char *b, const char *want)
{
    op_live *l = op_live_new();
    op_live_run(l, make_node(l, "MergeSummary", NULL, (const char *[]){a, b}, 2), "", want);
    op_live_free(l);
}

static void merging_fails(void **state)
{
    (void)state;
    expect_merge_error("string[] ^\x05^\x03tag", "string[] ^\x05^\x03tag",
                       "InvalidArgument: Duplicate tag tag found in summary inputs");
    expect_merge_error("string[] ''", "string[] ^\x09",
                       "InvalidArgument: Could not parse one of the summary");
    expect_merge_error("string[] ^\x02^\x03", "string[] ''",
                       "InvalidArgument: Could not parse one of the summary");
}

// ---- Images ----

typedef struct image_case {
    const char *input;
    uint8_t pixels[8]; // of the first image
} image_case;

// The formulas of tf.summary.image: the largest becomes 255, or zero becomes 128.
static const image_case images[] = {
    {"uint8[1,1,2,3] 0 1 2 253 254 255", {0, 1, 2, 253, 254, 255}},
    {"float[1,1,3,1] 0 1 4", {0, 63, 255}},
    {"float[1,1,3,1] -1 0 2", {64, 128, 255}},
    {"double[1,1,3,1] 0.5 1 0.25", {127, 255, 63}},
    {"float[1,1,2,1] 0 0.0000001", {0, 0}},
    {"float[1,1,2,3] 1 nan 1 1 2 4", {255, 0, 0, 63, 127, 255}}, // bad_color, and no part of the range
    {"float[1,1,2,4] inf 1 1 1 8 8 8 8", {255, 0, 0, 255, 255, 255, 255, 255}},
};

static void expect_png(const Tensorflow__Summary__Image *i, const uint8_t *pixels)
{
    static const uint32_t formats[] = {0, PNG_FORMAT_GRAY, 0, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
    png_image png = {.version = PNG_IMAGE_VERSION};
    uint8_t got[64];
    assert_true(
        png_image_begin_read_from_memory(&png, i->encoded_image_string.data, i->encoded_image_string.len));
    assert_int_equal(png.format, formats[i->colorspace]);
    assert_int_equal(png.width, i->width);
    assert_int_equal(png.height, i->height);
    assert_true(PNG_IMAGE_SIZE(png) <= sizeof got);
    assert_true(png_image_finish_read(&png, NULL, got, 0, NULL));
    assert_memory_equal(got, pixels, PNG_IMAGE_SIZE(png));
}

static void images_become_png_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        result r = RUN("ImageSummary", "max_images=1", "string[] im", images[i].input);
        assert_int_equal(r.summary->n_value, 1);
        assert_string_equal(r.summary->value[0]->tag, "im/image");
        expect_png(r.summary->value[0]->image, images[i].pixels);
        end(&r);
    }
    result r = RUN("ImageSummary", "max_images=2", "string[] im", "uint8[3,2,1,1] 1 2 3 4 5 6");
    assert_int_equal(r.summary->n_value, 2);
    assert_string_equal(r.summary->value[1]->tag, "im/image/1");
    assert_int_equal(r.summary->value[1]->image->height, 2);
    expect_png(r.summary->value[1]->image, (const uint8_t[]){3, 4});
    end(&r);
}

// The file is what Python's wave module writes of the same samples.
static void sounds_become_wav_files(void **state)
{
    (void)state;
    static const char wav[] = "RIFF\x30\0\0\0WAVEfmt \x10\0\0\0\1\0\2\0\x40\x1f\0\0\0\x7d\0\0\4\0\x10\0"
                              "data\x0c\0\0\0\0\0\0\x40\0\x80\xff\x7f\0\x20\0\xc0";
    static const char sound[] = "float[1,3,2] 0 0.5 -1 1 0.25 -0.5";
    const result results[] = {RUN("AudioSummary", "sample_rate=8000.0; max_outputs=1", "string[] s", sound),
                              RUN("AudioSummaryV2", "max_outputs=1", "string[] s", sound, "float[] 8000.2")};
    for (size_t i = 0; i < BD_COUNTOF(results); i++) {
        result r = results[i];
        assert_int_equal(r.summary->n_value, 1);
        assert_string_equal(r.summary->value[0]->tag, "s/audio");
        const Tensorflow__Summary__Audio *audio = r.summary->value[0]->audio;
        assert_true(fabsf(audio->sample_rate - 8000) < 0.5F);
        assert_int_equal(audio->num_channels, 2);
        assert_int_equal(audio->length_frames, 3);
        assert_string_equal(audio->content_type, "audio/wav");
        assert_int_equal(audio->encoded_audio_string.len, sizeof wav - 1);
        assert_memory_equal(audio->encoded_audio_string.data, wav, sizeof wav - 1);
        end(&r);
    }
    result r = RUN("AudioSummaryV2", NULL, "string[] s", "float[4,2] 9 -9 1 2 3 4 5 6", "float[] 1");
    assert_int_equal(r.summary->n_value, 3);
    assert_string_equal(r.summary->value[2]->tag, "s/audio/2");
    assert_memory_equal(r.summary->value[0]->audio->encoded_audio_string.data + 44, "\xff\x7f\x00\x80", 4);
    end(&r);
}

// ---- Errors ----

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ScalarSummary",
         .inputs = "string[2] a b; float[3] 1 2 3",
         .want = "InvalidArgument: tags and values not the same shape: [2] != [3]"},
        {.op = "ScalarSummary",
         .inputs = "string[] a; float[3] 1 2 3",
         .want = "InvalidArgument: tags and values not the same shape: [] != [3] (tag 'a')"},
        {.op = "HistogramSummary",
         .inputs = "string[2] a b; float[3] 1 2 3",
         .want = "InvalidArgument: tags must be scalar"},
        {.op = "HistogramSummary",
         .inputs = "string[] a; float[3] 1 nan 3",
         .want = "InvalidArgument: Nan in summary histogram for: HistogramSummary"},
        {.op = "HistogramSummary",
         .inputs = "string[] a; double[3] 1 -inf 3",
         .want = "InvalidArgument: Infinity in summary histogram for: HistogramSummary"},
        {.op = "TensorSummaryV2",
         .inputs = "string[2] a b; float[] 1; string[] ''",
         .want = "InvalidArgument: tag must be scalar"},
        {.op = "TensorSummaryV2",
         .inputs = "string[] a; float[] 1; string[] \x12\x04x",
         .want = "InvalidArgument: serialized_summary_metadata"},
        {.op = "ImageSummary",
         .inputs = "string[] a; float[1,2,2,2] 1",
         .want = "InvalidArgument: Tensor must be 4-D with last dim 1, 3, or 4, not [1,2,2,2]"},
        {.op = "ImageSummary",
         .inputs = "string[1] a; float[1,1,1,1] 1",
         .want = "InvalidArgument: Tags must be a scalar"},
        {.op = "ImageSummary",
         .inputs = "string[] a; float[1,0,1,1]",
         .want = "InvalidArgument: input tensor must have non-zero dims. Found: [1,0,1,1]"},
        {.op = "AudioSummaryV2",
         .inputs = "string[] a; float[3] 1; float[] 1",
         .want = "InvalidArgument: Tensor must be 3-D or 2-D, got: [3]"},
        {.op = "AudioSummaryV2",
         .inputs = "string[] a; float[1,3] 1; float[] nan",
         .want = "InvalidArgument: sample_rate must be > 0"},
        {.op = "AudioSummaryV2",
         .inputs = "string[] a; float[1,3,0]; float[] 1",
         .want = "InvalidArgument: num_channels must be in (0, 2^16), got: 0"},
        {.op = "AudioSummaryV2",
         .inputs = "string[] a; float[1,0]; float[] 1",
         .want = "InvalidArgument: 0 frames"},
        {.op = "AudioSummary",
         .attrs = "sample_rate=0.0",
         .inputs = "string[1] a; float[1,3] 1",
         .want = "InvalidArgument: Tag must be a scalar"},
        {.op = "ImageSummary",
         .attrs = "bad_color=uint8[1] 3",
         .inputs = "string[] a; float[1,1,1,3] 1 2 3",
         .want = "InvalidArgument: expected depth <= bad_color.size, got depth = 3, bad_color.size = 1"},
        {.op = "ImageSummary",
         .attrs = "bad_color=uint8[] 3",
         .inputs = "string[] a; float[1,1,1,3] 1 2 3",
         .want = "InvalidArgument: bad_color must be a vector, got shape []"},
        {.op = "AudioSummaryV2",
         .inputs = "string[] a; float[] 1; float[] 1",
         .want = "InvalidArgument: Tensor must be 3-D or 2-D, got: []"},
        {.op = "AudioSummaryV2",
         .inputs = "string[] a; float[1,3] 1; float[2] 1",
         .want = "InvalidArgument: sample_rate must be a scalar"},
        {.op = "AudioSummary",
         .attrs = "sample_rate=8.0",
         .inputs = "string[] a; float[2,0,1]",
         .want = "InvalidArgument: 0 frames"},
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_become_summaries),
        cmocka_unit_test(a_histogram_has_the_buckets_of_tensorflow),
        cmocka_unit_test(tensors_become_summaries),
        cmocka_unit_test(merged_summaries_keep_their_order),
        cmocka_unit_test(merging_fails),
        cmocka_unit_test(images_become_png_files),
        cmocka_unit_test(sounds_become_wav_files),
        cmocka_unit_test(wrong_inputs_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
