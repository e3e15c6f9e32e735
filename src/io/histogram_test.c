// Histograms: buckets, counts, and the message.
#include "io/histogram.h"

#include "base/alloc.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "proto/pack.h"
#include "tensorflow/core/framework/summary.pb-c.h"
#include <float.h>
#include <math.h>

// The message of a histogram; it lives in the arena.
static Tensorflow__HistogramProto *message_of(const bd_histogram *h, bd_proto_arena *arena)
{
    BD_STATUS(st);
    bd_message m;
    bd_wire_writer out;
    bd_message_init(&m);
    bd_wire_writer_init(&out, &m);
    bd_histogram_write(h, &out);
    bd_wire_writer_finish(&out);
    Tensorflow__HistogramProto *proto =
        bd_proto_unpack_message(&tensorflow__histogram_proto__descriptor, &m, arena, st);
    assert_ok(st);
    bd_message_fini(&m);
    assert_int_equal(proto->n_bucket, proto->n_bucket_limit);
    return proto;
}

static void limits_grow_by_a_tenth(void **state)
{
    (void)state;
    size_t count;
    const double *limits = bd_histogram_limits(&count);
    assert_int_equal(count, 1551); // 774 on each side, the largest doubles, and zero
    assert_true(limits[0] == -DBL_MAX && limits[count - 1] == DBL_MAX && limits[count / 2] == 0);
    assert_true(limits[count / 2 + 1] == 1e-12 && limits[count / 2 + 2] == 1e-12 * 1.1);
    assert_true(limits[count - 2] < 1e20 && limits[count - 2] * 1.1 >= 1e20);
    for (size_t i = 0; i < count; i++) {
        assert_true(limits[i] == -limits[count - 1 - i]);
        assert_true(i == 0 || limits[i - 1] < limits[i]);
    }
}

static void an_empty_histogram_has_no_buckets(void **state)
{
    (void)state;
    BD_PROTO_ARENA(arena);
    bd_histogram h;
    bd_histogram_init(&h);
    Tensorflow__HistogramProto *proto = message_of(&h, arena);
    assert_true(proto->min == DBL_MAX && proto->max == -DBL_MAX && proto->num == 0);
    assert_int_equal(proto->n_bucket, 1);
    assert_true(proto->bucket_limit[0] == DBL_MAX && proto->bucket[0] == 0);
    bd_histogram_fini(&h);
}

// A value on a limit belongs to the bucket above it.
static void a_value_on_a_limit_belongs_above_it(void **state)
{
    (void)state;
    size_t count;
    const double *limits = bd_histogram_limits(&count);
    for (size_t i = 0; i + 1 < count; i += 31) {
        BD_PROTO_ARENA(arena);
        bd_histogram h;
        bd_histogram_init(&h);
        bd_histogram_add(&h, limits[i]);
        Tensorflow__HistogramProto *proto = message_of(&h, arena);
        assert_true(proto->min == limits[i] && proto->max == limits[i] && proto->num == 1);
        assert_true(proto->sum == limits[i] && proto->sum_squares == limits[i] * limits[i]);
        // An empty bucket below, the value, an empty one above.
        assert_int_equal(proto->n_bucket, i + 2 < count ? 3 : 2);
        assert_true(proto->bucket_limit[0] == limits[i] && proto->bucket[0] == 0);
        assert_true(proto->bucket_limit[1] == limits[i + 1] && proto->bucket[1] == 1);
        bd_histogram_fini(&h);
    }
}

static void the_largest_doubles_are_counted(void **state)
{
    (void)state;
    BD_PROTO_ARENA(arena);
    bd_histogram h;
    bd_histogram_init(&h);
    bd_histogram_add(&h, DBL_MAX);
    bd_histogram_add(&h, -DBL_MAX);
    bd_histogram_add(&h, DBL_MAX / 2);
    Tensorflow__HistogramProto *proto = message_of(&h, arena);
    assert_int_equal(proto->n_bucket, 4);
    assert_true(proto->bucket_limit[3] == DBL_MAX && proto->bucket[3] == 2);
    bd_histogram_fini(&h);
}

static void random_values_are_counted_as_by_hand(void **state)
{
    (void)state;
    enum {
        COUNT = 5000
    };
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_rng rng = bd_rng_init(1);
    braid_tensor t;
    bd_histogram h;
    bd_histogram_init(&h);
    bd_tensor_init(&t, BRAID_DOUBLE, &BRAID_SHAPE(COUNT), st);
    for (int i = 0; i < COUNT; i++) {
        double magnitude = pow(10, 36 * bd_rng_double(&rng) - 14);
        bd_tensor_f64(&t)[i] = i % 50 == 0 ? 0 : bd_rng_next(&rng) & 1 ? magnitude : -magnitude;
    }
    bd_histogram_add_tensor(&h, &t, st);
    assert_ok(st);
    Tensorflow__HistogramProto *proto = message_of(&h, arena);
    assert_true(proto->num == COUNT);
    for (size_t b = 0; b < proto->n_bucket; b++) {
        double low = b ? proto->bucket_limit[b - 1] : -DBL_MAX, high = proto->bucket_limit[b], counted = 0;
        for (int i = 0; i < COUNT; i++)
            counted += bd_tensor_f64(&t)[i] >= low && bd_tensor_f64(&t)[i] < high;
        assert_true(counted == proto->bucket[b]);
        assert_true(b == 0 || proto->bucket[b] > 0 || proto->bucket[b - 1] > 0); // no two empty ones in a row
    }
    bd_tensor_fini(&t);
    bd_histogram_fini(&h);
}

static void each_real_type_is_counted(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const struct {
        braid_dtype dtype;
        uint64_t two; // the element 2
    } types[] = {{BRAID_FLOAT, 0x40000000}, {BRAID_DOUBLE, 0x4000000000000000},
                 {BRAID_HALF, 0x4000},      {BRAID_BFLOAT16, 0x4000},
                 {BRAID_INT8, 2},           {BRAID_UINT8, 2},
                 {BRAID_INT16, 2},          {BRAID_UINT16, 2},
                 {BRAID_INT32, 2},          {BRAID_UINT32, 2},
                 {BRAID_INT64, 2},          {BRAID_UINT64, 2}};
    for (size_t i = 0; i < BD_COUNTOF(types); i++) {
        braid_tensor t;
        bd_histogram h;
        bd_histogram_init(&h);
        bd_tensor_init(&t, types[i].dtype, &BRAID_SHAPE(3), st);
        for (size_t k = 0; k < 3; k++)
            memcpy((char *)t.data + k * braid_dtype_size(t.dtype), &types[i].two, braid_dtype_size(t.dtype));
        bd_histogram_add_tensor(&h, &t, st);
        assert_ok(st);
        assert_true(h.sum == 6 && h.sum_squares == 12);
        bd_tensor_fini(&t);
        bd_histogram_fini(&h);
    }
}

static void nan_infinity_and_strings_are_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_tensor t, text;
    bd_histogram h;
    bd_histogram_init(&h);
    bd_tensor_init(&t, BRAID_FLOAT, &BRAID_SHAPE(1), st);
    bd_tensor_init(&text, BRAID_STRING, &BRAID_SHAPE(1), st);
    bd_tensor_f32(&t)[0] = NAN;
    bd_histogram_add_tensor(&h, &t, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Nan in summary histogram");
    bd_tensor_f32(&t)[0] = -INFINITY;
    bd_histogram_add_tensor(&h, &t, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Infinity in summary histogram");
    bd_histogram_add_tensor(&h, &text, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "type string");
    bd_tensor_fini(&t);
    bd_tensor_fini(&text);
    bd_histogram_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_grow_by_a_tenth),
        cmocka_unit_test(an_empty_histogram_has_no_buckets),
        cmocka_unit_test(a_value_on_a_limit_belongs_above_it),
        cmocka_unit_test(the_largest_doubles_are_counted),
        cmocka_unit_test(random_values_are_counted_as_by_hand),
        cmocka_unit_test(each_real_type_is_counted),
        cmocka_unit_test(nan_infinity_and_strings_are_refused),
    };
    return BD_RUN_TESTS(tests);
}
