// Saves or restores a table of 7 rows in parts, with its momentum, for tests with TensorFlow:
//     partitioned save PREFIX PARTS     trains three steps, saves, and prints the table and its momentum
//     partitioned restore PREFIX PARTS  restores and prints them
// Parts are divided along the first axis; 0 PARTS: a variable that is not divided.
#include <braid/braid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 7,
    WIDTH = 2,
    STEPS = 3
};

typedef struct model {
    braid_graph *graph;
    braid_variable table;
    braid_optimizer *optimizer;
    braid_op *train, *init;
    braid_saver *saver;
} model;

static model model_make(int parts)
{
    model m = {.graph = braid_graph_new()};
    braid_variable_options options = {.shape = BRAID_SHAPE(ROWS, WIDTH),
                                      .initializer = braid_ones_initializer()};
    if (parts) options.partitioner = braid_fixed_size_partitioner(parts, 0);
    (void)braid_push_variable_scope(m.graph, "emb", NULL);
    m.table = braid_variable_get_with(m.graph, "table", &options);
    braid_pop_variable_scope(m.graph);
    float targets[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++)
        targets[i] = (float)i;
    braid_tensor *target = braid_tensor_from(BRAID_FLOAT, options.shape, targets, NULL);
    const braid_out distance = braid_sub(m.graph, m.table.read, braid_const(m.graph, NULL, target));
    braid_tensor_free(target);
    m.optimizer = braid_momentum(m.graph, 0.1f, 0.5f);
    m.train =
        braid_minimize(m.optimizer, braid_reduce_sum(m.graph, braid_square(m.graph, distance)), BRAID_NONE);
    m.init = braid_global_variables_initializer(m.graph);
    m.saver = braid_saver_new(m.graph, NULL);
    return m;
}

static braid_code print(braid_session *s, braid_out x, braid_status *st)
{
    braid_tensor *value = NULL;
    if (braid_session_run(s, &(braid_run_args){.fetches = &(braid_fetch){x, &value}, .fetch_count = 1}, st))
        return braid_status_code(st);
    for (int64_t i = 0; i < braid_tensor_num_elements(value); i++)
        printf("%.9g\n", (double)((const float *)braid_tensor_data(value))[i]);
    braid_tensor_free(value);
    return BRAID_OK;
}

static braid_code save(const model *m, braid_session *s, const char *prefix, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = 0; i <= STEPS && !code; i++) {
        braid_op *op = i ? m->train : m->init;
        code = braid_session_run(s, &(braid_run_args){.targets = &op, .target_count = 1}, st);
    }
    if (!code) free(braid_saver_save(m->saver, s, prefix, -1, st));
    return braid_status_code(st);
}

static braid_code print_all(const model *m, braid_session *s, braid_status *st)
{
    const braid_variable *t = &m->table;
    braid_code code = print(s, t->read, st);
    for (int i = 0; i < t->part_count && !code; i++)
        code = print(s, braid_optimizer_slot(m->optimizer, t->parts[i], "momentum"), st);
    if (!t->part_count && !code) code = print(s, braid_optimizer_slot(m->optimizer, t->ref, "momentum"), st);
    return code;
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    braid_status *st = braid_status_new();
    const model m = model_make(atoi(argv[3]));
    braid_session *s = braid_graph_status(m.graph, st) ? NULL : braid_session_open(m.graph, NULL, st);
    if (s && strcmp(argv[1], "save") == 0)
        save(&m, s, argv[2], st);
    else if (s)
        braid_saver_restore(m.saver, s, argv[2], st);
    if (!braid_status_code(st)) print_all(&m, s, st);
    if (s) braid_session_close(s, NULL);
    braid_graph_free(m.graph);
    const int rc = braid_status_code(st);
    if (rc) fprintf(stderr, "%s\n", braid_status_message(st));
    braid_status_free(st);
    return rc;
}
