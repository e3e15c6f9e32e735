// Slots in parts, made within a variable scope as canned estimators do: checkpoints restored in other parts.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "train/testing/hook_fixture.h"
#include <braid/checkpoint_reader.h>
#include <braid/optimizers.h>
#include <braid/saver.h>
#include <braid/session.h>
#include <braid/variable_scope.h>
#include <string.h>

enum {
    ROWS = 7
};

// A table in parts, each element with a gradient of its own, and a variable in one part.
typedef struct model {
    braid_graph *g;
    braid_variable table;
    braid_optimizer *optimizer;
    braid_op *train, *init;
    braid_saver *saver;
} model;

static model model_make(int parts)
{
    model m = {.g = braid_graph_new()};
    const braid_variable_scope_options options = {.partitioner = braid_fixed_size_partitioner(parts, 0)};
    (void)braid_push_variable_scope(m.g, "dnn", &options);
    m.table =
        braid_variable_get(m.g, "table", BRAID_FLOAT, BRAID_SHAPE(ROWS, 1), braid_ones_initializer(), true);
    const braid_variable bias =
        braid_variable_get(m.g, "bias", BRAID_FLOAT, BRAID_SHAPE(1), braid_ones_initializer(), true);
    float weights[ROWS];
    for (int i = 0; i < ROWS; i++)
        weights[i] = (float)i;
    braid_tensor *t = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(ROWS, 1), weights, NULL);
    const braid_out sum = braid_mul(m.g, braid_add(m.g, m.table.read, bias.read), braid_const(m.g, NULL, t));
    braid_tensor_free(t);
    m.optimizer = braid_momentum(m.g, 0.1f, 0.5f);
    m.train = braid_minimize(m.optimizer, braid_reduce_sum(m.g, sum), BRAID_NONE);
    braid_pop_variable_scope(m.g);
    m.init = braid_global_variables_initializer(m.g);
    m.saver = braid_saver_new(m.g, &(braid_saver_options){.sharded = true});
    return m;
}

static braid_session *open_model(const model *m)
{
    BD_STATUS(st);
    braid_graph_status(m->g, st);
    assert_ok(st);
    braid_session *s = braid_session_open(m->g, NULL, st);
    assert_ok(st);
    return s;
}

static void close_model(braid_session *s, const model *m)
{
    braid_session_close(s, NULL);
    braid_graph_free(m->g);
}

static void run(braid_session *s, braid_op *op)
{
    BD_STATUS(st);
    braid_session_run(s, &(braid_run_args){.targets = &op, .target_count = 1}, st);
    assert_ok(st);
}

static char *save_in_parts(int parts)
{
    BD_STATUS(st);
    const model m = model_make(parts);
    braid_session *s = open_model(&m);
    run(s, m.init);
    run(s, m.train);
    char *path = bd_asprintf("%s/model", hook_dir), *prefix = braid_saver_save(m.saver, s, path, parts, st);
    assert_ok(st);
    bd_free(path);
    close_model(s, &m);
    return prefix;
}

// The momentum of each row is its number, which is its gradient.
static void expect_momentum(braid_session *s, const model *m, int64_t expected_parts)
{
    BD_STATUS(st);
    assert_int_equal(m->table.part_count, expected_parts);
    int row = 0;
    for (int i = 0; i < m->table.part_count; i++) {
        braid_tensor *value = NULL;
        const braid_fetch fetch = {braid_optimizer_slot(m->optimizer, m->table.parts[i], "momentum"), &value};
        braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
        assert_ok(st);
        for (int64_t k = 0; k < braid_tensor_num_elements(value); k++, row++)
            assert_float_equal(((const float *)braid_tensor_data(value))[k], (float)row, 1e-6f);
        braid_tensor_free(value);
    }
    assert_int_equal(row, ROWS);
}

static void slots_are_restored_in_other_parts(void **state)
{
    (void)state;
    BD_STATUS(st);
    for (int from = 1; from <= 4; from++) {
        char *prefix = save_in_parts(from);
        for (int to = 1; to <= 4; to++) {
            const model m = model_make(to);
            braid_session *s = open_model(&m);
            hook_expect_log("are put together");
            for (int again = 0; again < 2; again++) { // as when a session is recovered
                braid_saver_restore(m.saver, s, prefix, st);
                assert_ok(st);
                expect_momentum(s, &m, to);
                run(s, m.train); // the scalars of the model are there, too
            }
            assert_int_equal(hook_log.len > 0, from != to);
            close_model(s, &m);
        }
        bd_free(prefix);
    }
}

static void slots_have_the_names_of_tensorflow(void **state)
{
    (void)state;
    BD_STATUS(st);
    const model m = model_make(2);
    assert_string_equal(braid_op_name(braid_optimizer_slot(m.optimizer, m.table.parts[1], "momentum").op),
                        "dnn/dnn/table/part_1/Momentum");
    braid_graph_free(m.g);
    char *prefix = save_in_parts(2);
    braid_checkpoint_reader *reader = braid_checkpoint_reader_open(prefix, st);
    assert_ok(st);
    static const char *const names[] = {"dnn/bias", "dnn/bias/t_0/Momentum", "dnn/table",
                                        "dnn/table/t_0/Momentum", "dnn/table/t_1/Momentum"};
    int count;
    const braid_checkpoint_entry *entries = braid_checkpoint_reader_list(reader, &count);
    assert_int_equal(count, BD_COUNTOF(names));
    for (int i = 0; i < count; i++)
        assert_string_equal(entries[i].name, names[i]);
    braid_checkpoint_reader_close(reader);
    bd_free(prefix);
}

static void a_checkpoint_without_a_slot_is_an_error_that_names_it(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *prefix = save_in_parts(2);
    model m = model_make(3);
    (void)braid_push_variable_scope(m.g, "dnn", NULL);
    braid_optimizer *other = braid_adagrad(m.g, 0.1f);
    braid_minimize(other, braid_reduce_sum(m.g, m.table.read), BRAID_NONE);
    braid_pop_variable_scope(m.g);
    m.saver = braid_saver_new(m.g, NULL);
    braid_session *s = open_model(&m);
    braid_saver_restore(m.saver, s, prefix, st);
    assert_error(st, BRAID_NOT_FOUND, "Adagrad");
    close_model(s, &m);
    bd_free(prefix);
}

int main(void)
{
#define HOOK_TEST(test) cmocka_unit_test_setup_teardown(test, hook_set_up, hook_tear_down)
    const struct CMUnitTest tests[] = {
        HOOK_TEST(slots_have_the_names_of_tensorflow),
        HOOK_TEST(slots_are_restored_in_other_parts),
        HOOK_TEST(a_checkpoint_without_a_slot_is_an_error_that_names_it),
    };
    return BD_RUN_TESTS(tests);
}
