// Looking ops up from several threads at once.
// labels: concurrent
#include "base/thread.h"
#include "graph/testing/test_ops.h"

enum {
    THREADS = 4
};

static const bd_op_def *found[THREADS][BD_COUNTOF(bd_op_table)];

static void look_up_all(void *arg)
{
    const bd_op_def **defs = arg;
    for (size_t i = 0; i < bd_op_table_len; i++)
        defs[i] = bd_op_lookup(bd_op_table[i].name);
}

static void a_definition_is_parsed_once(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_thread threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        bd_thread_start(&threads[t], "lookup", look_up_all, found[t], st);
        assert_ok(st);
    }
    for (int t = 0; t < THREADS; t++)
        bd_thread_join(&threads[t]);
    for (size_t i = 0; i < bd_op_table_len; i++) {
        assert_string_equal(found[0][i]->name, bd_op_table[i].name);
        assert_ptr_equal(found[0][i]->op, bd_op_table[i].op);
        for (int t = 1; t < THREADS; t++)
            assert_ptr_equal(found[t][i], found[0][i]);
    }
}

static void unknown_ops_are_not_found(void **state)
{
    (void)state;
    assert_null(bd_op_lookup(""));
    assert_null(bd_op_lookup("AAA"));
    assert_null(bd_op_lookup("Identit"));
    assert_null(bd_op_lookup("Zzz"));
    assert_null(bd_op_def_attr(bd_op_lookup("Add"), "N"));
    assert_string_equal(bd_op_def_attr(bd_op_lookup("Add"), "T")->name, "T");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_definition_is_parsed_once),
        cmocka_unit_test(unknown_ops_are_not_found),
    };
    return BD_RUN_TESTS(tests);
}
