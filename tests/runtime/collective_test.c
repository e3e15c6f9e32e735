// Collectives between the devices of an in-process session.
#include "ops/testing/op_rows.h"
#include "ops/testing/op_test.h"
#include "runtime/testing/test_graph.h"
#include <math.h>
#include <string.h>

enum {
    DEVICES = 3
};

static const char *device(int i)
{
    static const char *const names[DEVICES] = {"/cpu:0", "/cpu:1", "/cpu:2"};
    return names[i];
}

static braid_op_desc *collective(braid_graph *g, const char *op, int index, int size)
{
    braid_op_desc *d = braid_op_begin(g, op, NULL);
    braid_op_device(d, device(index));
    braid_op_attr_type(d, "T", BRAID_FLOAT);
    braid_op_attr_int(d, "group_size", size);
    braid_op_attr_int(d, "group_key", 1);
    braid_op_attr_int(d, "instance_key", 2);
    return d;
}

static braid_out reduced(braid_graph *g, int index, braid_out x, const char *merge, const char *final)
{
    braid_op_desc *d = collective(g, "CollectiveReduce", index, DEVICES);
    braid_op_input(d, x);
    braid_op_attr_string(d, "merge_op", merge);
    braid_op_attr_string(d, "final_op", final);
    braid_op_attr_int_list(d, "subdiv_offsets", (int64_t[]){0}, 1);
    return braid_op_end_out(d);
}

static braid_session *open_session(braid_graph *g)
{
    assert_int_equal(braid_graph_status(g, NULL), BRAID_OK);
    return tg_session(g, &(braid_session_options){.cpu_devices = DEVICES});
}

static void all_devices_get_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *merge, *final;
        float want;
    } cases[] = {{"Add", "Id", 9}, {"Add", "Div", 3}, {"Mul", "Id", 24}, {"Min", "Id", 2}, {"Max", "Id", 4}};
    for (size_t k = 0; k < BD_COUNTOF(cases); k++) {
        braid_graph *g = braid_graph_new();
        braid_tensor *out[DEVICES];
        braid_fetch fetches[DEVICES];
        for (int i = 0; i < DEVICES; i++)
            fetches[i] = (braid_fetch){
                reduced(g, i, tg_float(g, NULL, (float)(i + 2)), cases[k].merge, cases[k].final), &out[i]};
        braid_session *s = open_session(g);
        for (int round = 0; round < 3; round++) {
            BD_STATUS(st);
            braid_session_run(s, &(braid_run_args){.fetches = fetches, .fetch_count = DEVICES}, st);
            assert_ok(st);
            for (int i = 0; i < DEVICES; i++) {
                assert_float_equal(bd_tensor_f32(out[i])[0], cases[k].want, 0);
                braid_tensor_free(out[i]);
            }
        }
        tg_close(s, g);
    }
}

static void a_broadcast_reaches_the_other_devices(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_tensor *out[DEVICES];
    braid_fetch fetches[DEVICES];
    for (int i = 0; i < DEVICES; i++) {
        braid_op_desc *d = collective(g, i == 1 ? "CollectiveBcastSend" : "CollectiveBcastRecv", i, DEVICES);
        if (i == 1) braid_op_input(d, tg_float(g, NULL, 7));
        braid_op_attr_shape(d, "shape", BRAID_SCALAR);
        fetches[i] = (braid_fetch){braid_op_end_out(d), &out[i]};
    }
    braid_session *s = open_session(g);
    BD_STATUS(st);
    braid_session_run(s, &(braid_run_args){.fetches = fetches, .fetch_count = DEVICES}, st);
    assert_ok(st);
    for (int i = 0; i < DEVICES; i++) {
        assert_float_equal(bd_tensor_f32(out[i])[0], 7, 0);
        braid_tensor_free(out[i]);
    }
    tg_close(s, g);
}

// Each device gives the same tensor.
static void tensors_of_any_shape_are_exchanged(void **state)
{
    (void)state;
    static const struct {
        const char *op, *given, *want;
    } cases[] = {
        {"CollectiveReduce", "float[] 2", "float[] 6"},
        {"CollectiveReduce", "float[2] 1 2", "float[2] 3 6"},
        {"CollectiveReduce", "float[2,0]", "float[2,0]"},
        {"CollectiveGather", "float[2] 1 2", "float[6] 1 2 1 2 1 2"},
        {"CollectiveGather", "float[1,2] 1 2", "float[3,2] 1 2 1 2 1 2"},
        {"CollectiveGather", "float[0,2]", "float[0,2]"},
        {"CollectiveBcastSend", "float[] 2", "float[] 2"},
        {"CollectiveBcastSend", "float[2,1] 1 2", "float[2,1] 1 2"},
        {"CollectiveBcastSend", "float[2,0]", "float[2,0]"},
    };
    for (size_t k = 0; k < BD_COUNTOF(cases); k++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        braid_tensor want, *out[DEVICES];
        braid_fetch fetches[DEVICES];
        op_test_tensor(&want, cases[k].want);
        for (int i = 0; i < DEVICES; i++) {
            const bool receives = i > 0 && strcmp(cases[k].op, "CollectiveBcastSend") == 0;
            const bool reduces = strcmp(cases[k].op, "CollectiveReduce") == 0;
            braid_tensor given;
            op_test_tensor(&given, cases[k].given);
            braid_op_desc *c = braid_op_begin(g, "Const", NULL);
            braid_op_attr_type(c, "dtype", BRAID_FLOAT);
            braid_op_attr_tensor(c, "value", &given);
            const braid_out x = braid_op_end_out(c);
            bd_tensor_fini(&given);
            braid_op_desc *d = collective(g, receives ? "CollectiveBcastRecv" : cases[k].op, i, DEVICES);
            if (!receives) braid_op_input(d, x);
            if (!reduces) braid_op_attr_shape(d, "shape", want.shape);
            if (reduces) {
                braid_op_attr_string(d, "merge_op", "Add");
                braid_op_attr_string(d, "final_op", "Id");
                braid_op_attr_int_list(d, "subdiv_offsets", (int64_t[]){0}, 1);
            }
            fetches[i] = (braid_fetch){braid_op_end_out(d), &out[i]};
        }
        braid_session *s = open_session(g);
        braid_session_run(s, &(braid_run_args){.fetches = fetches, .fetch_count = DEVICES}, st);
        assert_ok(st);
        for (int i = 0; i < DEVICES; i++) {
            op_test_expect(out[i], cases[k].want, 0, cases[k].op);
            op_row_note_ran(fetches[i].out.op);
            braid_tensor_free(out[i]);
        }
        bd_tensor_fini(&want);
        tg_close(s, g);
    }
}

// ---- Large tensors: merged part by part ----

static uint32_t drawn(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

// Sums of these depend on the order: values of many magnitudes.
static braid_tensor *large(int64_t count, int device)
{
    uint64_t seed = (uint64_t)device + 1;
    braid_tensor *t = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(count), NULL);
    for (int64_t i = 0; i < count; i++) {
        const float unit = (float)drawn(&seed) / 4294967296.0f - 0.5f;
        bd_tensor_f32(t)[i] = ldexpf(unit, (int)(drawn(&seed) % 24));
    }
    return t;
}

static braid_out given_on(braid_graph *g, int index)
{
    braid_op_desc *d = braid_op_begin(g, "Placeholder", NULL);
    braid_op_device(d, device(index));
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    return braid_op_end_out(d);
}

static void expect_fixed_order(const braid_tensor *got, braid_tensor *const given[DEVICES], bool divides)
{
    for (int64_t i = 0; i < bd_tensor_count(got); i++) {
        float sum = bd_tensor_f32(given[0])[i];
        for (int k = 1; k < DEVICES; k++)
            sum += bd_tensor_f32(given[k])[i];
        if (divides) sum /= DEVICES;
        if (memcmp(&sum, &bd_tensor_f32(got)[i], sizeof sum) != 0)
            fail_msg("element %lld is %.9g, not %.9g", (long long)i, (double)bd_tensor_f32(got)[i],
                     (double)sum);
    }
}

// Around the size from which tensors are divided, of parts with one chunk and several, and of a last part
// that is empty, short or whole.
static void large_sums_have_the_bits_of_the_order_of_ranks(void **state)
{
    (void)state;
    static const int64_t counts[] = {131071,  131072,  131073,  131072 + 130,
                                     1572864, 1572865, 2500001, 4000000};
    for (size_t k = 0; k < BD_COUNTOF(counts); k++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        braid_tensor *given[DEVICES], *out[DEVICES];
        braid_feed feeds[DEVICES];
        braid_fetch fetches[DEVICES];
        for (int i = 0; i < DEVICES; i++) {
            given[i] = large(counts[k], i);
            feeds[i] = (braid_feed){given_on(g, i), given[i]};
            fetches[i] = (braid_fetch){reduced(g, i, feeds[i].out, "Add", k % 2 ? "Div" : "Id"), &out[i]};
        }
        braid_session *s = open_session(g);
        braid_session_run(
            s,
            &(braid_run_args){
                .feeds = feeds, .feed_count = DEVICES, .fetches = fetches, .fetch_count = DEVICES},
            st);
        assert_ok(st);
        for (int i = 0; i < DEVICES; i++) {
            expect_fixed_order(out[i], given, k % 2);
            braid_tensor_free(out[i]);
        }
        for (int i = 0; i < DEVICES; i++)
            braid_tensor_free(given[i]);
        tg_close(s, g);
    }
}

static void members_that_disagree_about_a_large_shape_fail(void **state)
{
    (void)state;
    static const struct {
        int64_t counts[DEVICES];
        const char *message;
    } cases[] = {
        {{200000, 200000, 200001}, "Members of the group disagree: member"},
        {{200000, 200000, 2000000}, "Members of the group disagree: member"},
        {{200000, 200000, 5}, "Members of the group disagree: member"},
        {{5, 5, 200000}, "Members of the group disagree: member"},
    };
    for (size_t k = 0; k < BD_COUNTOF(cases); k++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        braid_tensor *given[DEVICES], *out[DEVICES] = {0};
        braid_feed feeds[DEVICES];
        braid_fetch fetches[DEVICES];
        for (int i = 0; i < DEVICES; i++) {
            given[i] = large(cases[k].counts[i], i);
            feeds[i] = (braid_feed){given_on(g, i), given[i]};
            fetches[i] = (braid_fetch){reduced(g, i, feeds[i].out, "Add", "Id"), &out[i]};
        }
        braid_session *s = open_session(g);
        braid_session_run(s,
                          &(braid_run_args){.feeds = feeds,
                                            .feed_count = DEVICES,
                                            .fetches = fetches,
                                            .fetch_count = DEVICES,
                                            .timeout_ms = 30000},
                          st);
        assert_null(strstr(st->message ? st->message : "", "uint8"));
        assert_error(st, BRAID_INVALID_ARGUMENT, cases[k].message);
        for (int i = 0; i < DEVICES; i++)
            braid_tensor_free(given[i]);
        tg_close(s, g);
    }
}

static void a_missing_member_is_waited_for_until_the_run_ends(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out y = reduced(g, 0, tg_float(g, NULL, 1), "Add", "Id");
    braid_session *s = open_session(g);
    braid_tensor *out = NULL;
    braid_fetch fetch = {y, &out};
    BD_STATUS(st);
    braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1, .timeout_ms = 50}, st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "took longer than 50 ms");
    tg_close(s, g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_devices_get_the_same),
        cmocka_unit_test(a_broadcast_reaches_the_other_devices),
        cmocka_unit_test(tensors_of_any_shape_are_exchanged),
        cmocka_unit_test(large_sums_have_the_bits_of_the_order_of_ranks),
        cmocka_unit_test(members_that_disagree_about_a_large_shape_fail),
        cmocka_unit_test(a_missing_member_is_waited_for_until_the_run_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
