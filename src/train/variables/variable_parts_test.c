// Partitioned variables: partitioners, nodes, training, checkpoints under other numbers of parts.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "io/testing/temp_dir.h"
#include "train/testing/graph_text.h"
#include <braid/braid.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 7,
    WIDTH = 2,
    STEPS = 3
};

static void partitioners_count_parts_as_tensorflow_does(void **state)
{
    (void)state;
    const struct {
        braid_partitioner partitioner;
        braid_shape shape;
        braid_dtype dtype;
        int64_t want;
    } cases[] = {
        {braid_fixed_size_partitioner(3, 0), BRAID_SHAPE(10, 4), BRAID_FLOAT, 3},
        {braid_fixed_size_partitioner(3, 1), BRAID_SHAPE(10, 2), BRAID_FLOAT, 2},
        // 16 bytes a row: 4 rows in 64 bytes; a row that is too large is alone
        {braid_variable_axis_size_partitioner(64, 0, 0), BRAID_SHAPE(10, 4), BRAID_FLOAT, 3},
        {braid_variable_axis_size_partitioner(64, 0, 2), BRAID_SHAPE(10, 4), BRAID_FLOAT, 2},
        {braid_variable_axis_size_partitioner(8, 0, 0), BRAID_SHAPE(10, 4), BRAID_FLOAT, 10},
        {braid_variable_axis_size_partitioner(64, 0, 0), BRAID_SHAPE(10), BRAID_STRING, 3},
        {braid_min_max_variable_partitioner(4, 0, 64), BRAID_SHAPE(10, 4), BRAID_FLOAT, 3},
        {braid_min_max_variable_partitioner(2, 0, 64), BRAID_SHAPE(10, 4), BRAID_FLOAT, 2},
        {braid_min_max_variable_partitioner(100, 0, 1), BRAID_SHAPE(10, 4), BRAID_FLOAT, 10},
        {braid_min_max_variable_partitioner(100, 0, 0), BRAID_SHAPE(10, 4), BRAID_FLOAT, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int axis = -1;
        const braid_partitioner *p = &cases[i].partitioner;
        assert_int_equal(p->shards(p, cases[i].dtype, cases[i].shape, &axis), cases[i].want);
        assert_int_equal(axis, p->axis);
    }
}

static braid_variable table(braid_graph *g, int parts, braid_variable_kind kind,
                            braid_initializer initializer)
{
    braid_variable_options o = {.shape = BRAID_SHAPE(ROWS, WIDTH), .initializer = initializer, .kind = kind};
    if (parts) o.partitioner = braid_fixed_size_partitioner(parts, 0);
    return braid_variable_get_with(g, "t", &o);
}

static void parts_are_built_as_tensorflow_builds_them(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    (void)braid_push_variable_scope(g, "s", NULL);
    const braid_variable v = table(g, 2, BRAID_KIND_INHERIT, braid_zeros_initializer());
    assert_null(v.ref.op);
    assert_int_equal(v.part_count, 2);
    assert_true(braid_shape_equal(braid_out_shape(v.read), BRAID_SHAPE(ROWS, WIDTH)));
    expect_nodes(g, "s/t",
                 "s/t/part_0/Initializer/zeros = Const =s/t/part_0\n"
                 "s/t/part_0 = VariableV2 =s/t/part_0\n"
                 "s/t/part_0/Assign = Assign s/t/part_0:0 s/t/part_0/Initializer/zeros:0 =s/t/part_0\n"
                 "s/t/part_0/read = Identity s/t/part_0:0 =s/t/part_0\n"
                 "s/t/part_1/Initializer/zeros = Const =s/t/part_1\n"
                 "s/t/part_1 = VariableV2 =s/t/part_1\n"
                 "s/t/part_1/Assign = Assign s/t/part_1:0 s/t/part_1/Initializer/zeros:0 =s/t/part_1\n"
                 "s/t/part_1/read = Identity s/t/part_1:0 =s/t/part_1\n"
                 "s/t/ConcatPartitions/concat/axis = Const\n"
                 "s/t/ConcatPartitions/concat = ConcatV2 s/t/part_0/read:0 s/t/part_1/read:0 "
                 "s/t/ConcatPartitions/concat/axis:0\n"
                 "s/t = Identity s/t/ConcatPartitions/concat:0\n");
    int count;
    const braid_out *trained = braid_collection(g, BRAID_TRAINABLE_VARIABLES, &count);
    assert_int_equal(count, 2);
    assert_ptr_equal(trained[1].op, v.parts[1].op);
    assert_true(braid_shape_equal(braid_out_shape(v.parts[0]), BRAID_SHAPE(4, WIDTH)));
    assert_true(braid_shape_equal(braid_out_shape(v.parts[1]), BRAID_SHAPE(3, WIDTH)));
    braid_graph_free(g);
}

static void reused_parts_must_be_those_that_exist(void **state)
{
    (void)state;
    for (int parts = 0; parts < 3; parts++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        const braid_variable v = table(g, 2, BRAID_KIND_INHERIT, braid_zeros_initializer());
        braid_variable_options o = {.shape = BRAID_SHAPE(ROWS, WIDTH), .reuse = BRAID_REUSE};
        if (parts) o.partitioner = braid_fixed_size_partitioner(parts, 0);
        const braid_variable again = braid_variable_get_with(g, "t", &o);
        if (parts == 2)
            assert_ptr_equal(again.parts, v.parts);
        else
            assert_int_equal(braid_graph_status(g, st), BRAID_INVALID_ARGUMENT);
        braid_graph_free(g);
    }
}

static void what_cannot_be_divided_is_refused(void **state)
{
    (void)state;
    const struct {
        braid_shape shape;
        int axis;
        const char *message;
    } cases[] = {{BRAID_SCALAR, 0, "Variable t: A partitioned Variable must have rank at least 1"},
                 {BRAID_SHAPE(4), 1, "Variable t of shape (4,) cannot be divided into 1 parts along axis 1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        braid_variable_get_with(
            g, "t",
            &(braid_variable_options){.shape = cases[i].shape,
                                      .partitioner = braid_fixed_size_partitioner(2, cases[i].axis)});
        braid_graph_status(g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, cases[i].message);
        braid_graph_free(g);
    }
}

// ---- Training: parts give what the whole gives ----

typedef struct model {
    braid_graph *g;
    braid_variable v;
    braid_out loss;
    braid_op *train, *init;
    braid_session *s;
} model;

typedef enum access {
    DENSE,
    BY_MOD,
    BY_DIV
} access;

// Where the row `id` is in a table whose parts deal rows in turn ("mod"), one part after another.
static int32_t row_of(int32_t id, int parts, access how)
{
    if (how != BY_MOD || !parts) return id;
    int32_t before = 0;
    for (int i = 0; i < id % parts; i++)
        before += (ROWS + parts - 1 - i) / parts;
    return before + id / parts;
}

static braid_out rows_of(const model *m, int parts, access how)
{
    const int32_t ids[] = {3, 1, 3, 0, 6, 5};
    const braid_out ids_out = braid_const_int32s(m->g, "ids", ids, 6);
    if (how == DENSE) return braid_gather(m->g, m->v.read, ids_out);
    if (!parts) return braid_embedding_lookup(m->g, m->v.ref, ids_out);
    return braid_embedding_lookup_parts(m->g, m->v.parts, m->v.part_count, ids_out,
                                        how == BY_MOD ? BRAID_PARTITION_MOD : BRAID_PARTITION_DIV);
}

static model model_make(int parts, braid_variable_kind kind, access how)
{
    model m = {.g = braid_graph_new()};
    m.v = table(m.g, parts, kind, braid_zeros_initializer());
    const braid_out rows = rows_of(&m, parts, how);
    const float wanted[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    braid_tensor *target = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(6, WIDTH), wanted, NULL);
    const braid_out distance = braid_sub(m.g, rows, braid_const(m.g, NULL, target));
    braid_tensor_free(target);
    m.loss = braid_reduce_sum(m.g, braid_square(m.g, distance));
    m.train = braid_minimize(braid_adam(m.g, 0.1f), m.loss, BRAID_NONE);
    m.init = braid_global_variables_initializer(m.g);
    return m;
}

static void model_run(model *m, braid_op *op)
{
    BD_STATUS(st);
    if (!m->s) {
        braid_graph_status(m->g, st);
        assert_ok(st);
        m->s = braid_session_open(m->g, NULL, st);
    }
    braid_session_run(m->s, &(braid_run_args){.targets = &op, .target_count = 1}, st);
    assert_ok(st);
}

static void model_value(model *m, braid_out x, float *values)
{
    BD_STATUS(st);
    braid_tensor *t = NULL;
    braid_session_run(m->s, &(braid_run_args){.fetches = &(braid_fetch){x, &t}, .fetch_count = 1}, st);
    assert_ok(st);
    memcpy(values, braid_tensor_data(t), braid_tensor_bytes(t));
    braid_tensor_free(t);
}

static void model_free(model *m)
{
    BD_STATUS(st);
    braid_session_close(m->s, st);
    assert_ok(st);
    braid_graph_free(m->g);
}

static void parts_are_trained_as_the_whole(void **state)
{
    (void)state;
    for (int how = DENSE; how <= BY_DIV; how++) {
        for (int kind = BRAID_KIND_REFERENCE; kind <= BRAID_KIND_RESOURCE; kind++) {
            float results[2][ROWS][WIDTH];
            for (int parts = 0; parts < 4; parts++) { // one part, too
                model m = model_make(parts, (braid_variable_kind)kind, (access)how);
                float(*got)[WIDTH] = results[parts > 0];
                model_run(&m, m.init);
                for (int i = 0; i < STEPS; i++)
                    model_run(&m, m.train);
                model_value(&m, m.v.read, &got[0][0]);
                assert_true(results[0][3][0] > 0.1f && results[0][2][0] == 0);
                for (int32_t id = 0; parts && id < ROWS; id++)
                    for (int k = 0; k < WIDTH; k++)
                        assert_float_equal(got[row_of(id, parts, (access)how)][k], results[0][id][k], 1e-6);
                model_free(&m);
            }
        }
    }
}

// The slots of a part are its own, beside it.
static void slots_are_divided_like_their_variable(void **state)
{
    (void)state;
    model m = model_make(2, BRAID_KIND_REFERENCE, BY_DIV);
    expect_nodes(m.g, "t/part_1/Adam_1",
                 "t/part_1/Adam_1/Initializer/zeros = Const =t/part_1\n"
                 "t/part_1/Adam_1 = VariableV2 =t/part_1\n"
                 "t/part_1/Adam_1/Assign = Assign t/part_1/Adam_1:0 t/part_1/Adam_1/Initializer/zeros:0 "
                 "=t/part_1\n"
                 "t/part_1/Adam_1/read = Identity t/part_1/Adam_1:0 =t/part_1\n");
    assert_non_null(braid_graph_find(m.g, "Adam/update_t/part_0/group_deps"));
    braid_graph_free(m.g);
}

static void the_device_setter_deals_the_parts(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_cluster *cluster = braid_cluster_from_hosts("a:1,b:1", "c:1", st);
    braid_device_setter *setter = braid_replica_device_setter(g, cluster, NULL);
    braid_push_device_setter(g, setter);
    const braid_variable v = table(g, 3, BRAID_KIND_RESOURCE, braid_zeros_initializer());
    for (int i = 0; i < 3; i++)
        assert_string_equal(braid_op_requested_device(v.parts[i].op),
                            i == 1 ? "/job:ps/task:1" : "/job:ps/task:0");
    assert_int_equal(braid_device_setter_bytes(setter, 0), (3 + 2) * WIDTH * 4);
    assert_int_equal(braid_device_setter_bytes(setter, 1), 2 * WIDTH * 4);
    braid_graph_free(g);
    braid_cluster_free(cluster);
}

static void a_table_that_is_none_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        const braid_variable v = table(g, 2, BRAID_KIND_INHERIT, braid_zeros_initializer());
        const braid_out parts[] = {v.parts[0], i == 0 ? BRAID_NONE : braid_const_float(g, "c", 1)};
        braid_embedding_lookup_parts(g, parts, i == 2 ? 0 : 2, braid_const_int32(g, NULL, 1),
                                     BRAID_PARTITION_MOD);
        static const char *const says[] = {"part 1 of 2 is none", "'c' is no variable", "Need at least one"};
        braid_graph_status(g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, says[i]);
        braid_graph_free(g);
    }
}

// ---- Checkpoints ----

static void expect_same_table(model *a, model *b, float tolerance)
{
    float x[ROWS * WIDTH], y[ROWS * WIDTH];
    model_value(a, a->v.read, x);
    model_value(b, b->v.read, y);
    for (int i = 0; i < ROWS * WIDTH; i++)
        assert_float_equal(x[i], y[i], tolerance);
    assert_true(x[0] != 0);
}

// Saves after some steps under `from` parts, restores under `to` (0: not divided), and trains on in both, so
// that slots count.
static void check_restoring(const char *dir, int from, int to, bool sharded)
{
    BD_STATUS(st);
    model a = model_make(from, BRAID_KIND_REFERENCE, DENSE), b = model_make(to, BRAID_KIND_RESOURCE, DENSE);
    const braid_saver_options options = {.sharded = sharded, .asynchronous = true};
    braid_saver *saver = braid_saver_new(a.g, &options), *other = braid_saver_new(b.g, &options);
    model_run(&a, a.init);
    for (int i = 0; i < STEPS; i++)
        model_run(&a, a.train);
    char *path = bd_asprintf("%s/%d-%d-%d", dir, from, to, sharded);
    braid_save *save = braid_saver_begin(saver, a.s, path, -1, st);
    assert_non_null(save);
    free(braid_save_finish(save, st));
    assert_ok(st);
    model_run(&b, b.init);
    braid_saver_restore(other, b.s, path, st);
    assert_ok(st);
    expect_same_table(&a, &b, 0);
    model_run(&a, a.train);
    model_run(&b, b.train);
    expect_same_table(&a, &b, 1e-6f);
    bd_free(path);
    model_free(&a);
    model_free(&b);
}

static void checkpoints_are_restored_under_another_number_of_parts(void **state)
{
    (void)state;
    char *dir = bd_temp_dir_new();
    static const int numbers[][2] = {{3, 2}, {2, 5}, {3, 0}, {0, 2}, {1, 3}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (int sharded = 0; sharded < 2; sharded++)
            check_restoring(dir, numbers[i][0], numbers[i][1], sharded);
    bd_temp_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partitioners_count_parts_as_tensorflow_does),
        cmocka_unit_test(parts_are_built_as_tensorflow_builds_them),
        cmocka_unit_test(reused_parts_must_be_those_that_exist),
        cmocka_unit_test(what_cannot_be_divided_is_refused),
        cmocka_unit_test(parts_are_trained_as_the_whole),
        cmocka_unit_test(slots_are_divided_like_their_variable),
        cmocka_unit_test(the_device_setter_deals_the_parts),
        cmocka_unit_test(a_table_that_is_none_is_refused),
        cmocka_unit_test(checkpoints_are_restored_under_another_number_of_parts),
    };
    return BD_RUN_TESTS(tests);
}
