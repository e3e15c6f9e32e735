// Tests of GraphOptions as clients send them, and as a master sends them to a worker.
#include "cluster/spec/graph_options.h"

#include "base/testing/test.h"
#include <braid/session.h>

#define L0 TENSORFLOW__OPTIMIZER_OPTIONS__LEVEL__L0
#define ON TENSORFLOW__REWRITER_CONFIG__TOGGLE__ON
#define OFF TENSORFLOW__REWRITER_CONFIG__TOGGLE__OFF

static const struct row {
    const char *what;
    Tensorflow__OptimizerOptions optimizer;
    Tensorflow__RewriterConfig rewriter;
    unsigned off;
} rows[] = {
    {"nothing", TENSORFLOW__OPTIMIZER_OPTIONS__INIT, TENSORFLOW__REWRITER_CONFIG__INIT, 0},
    {"L0", {.opt_level = L0}, {.constant_folding = 0}, BRAID_REWRITE_ALL},
    {"L0 with a flag",
     {.opt_level = L0, .do_constant_folding = true},
     {.constant_folding = 0},
     BRAID_REWRITE_ALL & ~BRAID_REWRITE_CONSTANT_FOLDING},
    {"L0 with a toggle",
     {.opt_level = L0},
     {.dependency_optimization = ON},
     BRAID_REWRITE_ALL & ~BRAID_REWRITE_DEPENDENCIES},
    {"a toggle off", {.opt_level = 0}, {.arithmetic_optimization = OFF}, BRAID_REWRITE_ELEMENTWISE},
    {"remapping", {.opt_level = 0}, {.remapping = OFF}, BRAID_REWRITE_REMAPPING | BRAID_REWRITE_UPDATES},
    {"subgraphs",
     {.opt_level = 0},
     {.common_subgraph_elimination = OFF},
     BRAID_REWRITE_COMMON_SUBEXPRESSIONS},
    {"no meta-optimizer",
     {.opt_level = 0},
     {.disable_meta_optimizer = true, .remapping = ON},
     BRAID_REWRITE_ALL & ~(BRAID_REWRITE_CONSTANT_FOLDING | BRAID_REWRITE_COMMON_SUBEXPRESSIONS)},
};

static void options_of_clients_are_heeded(void **state)
{
    (void)state;
    assert_int_equal(bd_graph_options_read(NULL), 0);
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        print_message("%s\n", rows[i].what);
        Tensorflow__OptimizerOptions optimizer = rows[i].optimizer;
        Tensorflow__RewriterConfig rewriter = rows[i].rewriter;
        Tensorflow__GraphOptions o = TENSORFLOW__GRAPH_OPTIONS__INIT;
        o.optimizer_options = &optimizer;
        o.rewrite_options = &rewriter;
        assert_int_equal(bd_graph_options_read(&o), rows[i].off);
    }
}

static void disabled_rewrites_are_disabled_on_each_task(void **state)
{
    (void)state;
    const unsigned together = BRAID_REWRITE_REMAPPING | BRAID_REWRITE_UPDATES; // one toggle for both
    for (unsigned off = 0; off <= BRAID_REWRITE_ALL; off++) {
        bd_graph_options memory;
        unsigned expected = off & together ? off | together : off;
        assert_int_equal(bd_graph_options_read(bd_graph_options_make(off, false, false, &memory)), expected);
    }
}

static void other_options_reach_the_master(void **state)
{
    (void)state;
    bd_graph_options memory;
    assert_null(bd_graph_options_make(0, false, false, &memory));
    assert_true(bd_graph_options_make(0, true, false, &memory)->place_pruned_graph);
    assert_false(memory.message.enable_bfloat16_sendrecv);
    assert_true(bd_graph_options_make(0, false, true, &memory)->enable_bfloat16_sendrecv);
    assert_false(memory.message.place_pruned_graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_clients_are_heeded),
        cmocka_unit_test(disabled_rewrites_are_disabled_on_each_task),
        cmocka_unit_test(other_options_reach_the_master),
    };
    return BD_RUN_TESTS(tests);
}
