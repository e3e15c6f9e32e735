// Fuzzes GraphDef import: an accepted graph is written and read again as the same; its copies and orders are
// consistent; bodies of its functions, and of their gradients, are made.
#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "base/random.h"
#include "base/wire.h"
#include "graph/lower.h"
#include "graph/subgraph.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    braid_set_log_level(BRAID_LOG_NONE);
    return 0;
}

// Cuts the bytes into slices whose lengths the first byte determines.
static void cut(bd_message *m, const uint8_t *data, size_t size)
{
    bd_rng rng = bd_rng_init(size ? data[0] : 0);
    bd_message_init(m);
    for (size_t at = 0, piece; at < size; at += piece) {
        piece = 1 + bd_rng_below(&rng, 256);
        if (piece > size - at) piece = size - at;
        bd_message_add(m, (bd_slice){.data = data + at, .len = piece});
    }
}

static void check_same(const braid_graph *a, const braid_graph *b)
{
    BD_ASSERT(a->nodes.len == b->nodes.len);
    for (size_t i = 0; i < a->nodes.len; i++) {
        const braid_op *x = a->nodes.items[i], *y = b->nodes.items[i];
        BD_ASSERT(strcmp(x->name, y->name) == 0 && strcmp(x->op_type, y->op_type) == 0);
        BD_ASSERT(x->input_count == y->input_count && x->control_count == y->control_count);
        BD_ASSERT(x->attr_count == y->attr_count && x->output_count == y->output_count);
        for (int k = 0; k < x->attr_count; k++)
            BD_ASSERT(bd_attr_equal(&x->attrs[k].value, &y->attrs[k].value));
        for (int k = 0; k < x->output_count; k++)
            BD_ASSERT(x->output_types[k] == y->output_types[k]);
    }
}

static void check_round_trip(const braid_graph *g)
{
    BD_STATUS(st);
    size_t len;
    void *data = braid_graph_export(g, &len, st);
    BD_ASSERT(data && len == bd_graph_write_size(g, 0, 0));
    braid_graph *again = braid_graph_new();
    if (braid_graph_import(again, data, len, st) != BRAID_RESOURCE_EXHAUSTED) {
        BD_ASSERT(!st->code);
        check_same(g, again);
    }
    braid_graph_free(again);
    free(data);
}

static void check_copy(const braid_graph *g)
{
    BD_STATUS(st);
    braid_graph *copy = braid_graph_new();
    braid_op **map = bd_calloc(g->nodes.len + 1, sizeof *map);
    bd_op_list order = {0};
    bd_subgraph_spec all = {.roots = g->nodes.items, .root_count = (int)g->nodes.len};
    BD_ASSERT(!bd_subgraph(g, &all, copy, map, st));
    check_same(g, copy);
    BD_ASSERT(!bd_graph_topological(copy, &order, st) && order.len == g->nodes.len);
    bd_array_free(&order);
    bd_free(map);
    braid_graph_free(copy);
}

// The functions without values for attrs, and as those nodes call them that call them by name.
static void check_functions(const braid_graph *g)
{
    size_t pos = 0;
    const char *name;
    while (g->library && bd_map_next(&g->library->functions, &pos, &name, NULL)) {
        BD_STATUS(st);
        bd_function_body body;
        const bd_func f = {.name = name};
        if (!bd_function_instantiate(g->library, &f, &body, st)) bd_function_body_fini(&body);
        if (!bd_function_gradient(g->library, &f, &body, st)) bd_function_body_fini(&body);
    }
    for (size_t i = 0; i < g->nodes.len; i++) {
        BD_STATUS(st);
        bd_arena arena = {0};
        bd_function_body body;
        const bd_func f = bd_func_of_node(g->nodes.items[i], &arena);
        if (!bd_function_instantiate(g->library, &f, &body, st)) bd_function_body_fini(&body);
        bd_arena_fini(&arena);
    }
}

// Checks that names are unique and inputs have the types that their nodes take.
static void check_lowering(braid_graph *g)
{
    bd_graph_lower(g, 0);
    for (size_t i = 0; i < g->nodes.len; i++) {
        const braid_op *n = g->nodes.items[i];
        BD_ASSERT(n->id == (int)i && bd_map_get(&g->by_name, n->name) == n);
        for (int k = 0; k < n->input_count; k++)
            BD_ASSERT(n->inputs[k].op && n->inputs[k].op->graph == g);
        for (int k = 0; k < n->control_count; k++)
            BD_ASSERT(n->controls[k]->graph == g);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BD_STATUS(st);
    bd_message m;
    bd_buffer_pool_set_limit((size_t)1 << 20); // small messages may stand for large tensors
    braid_graph *g = braid_graph_new();
    cut(&m, data, size);
    if (bd_graph_import_message(g, &m, st)) {
        BD_ASSERT(g->nodes.len == 0 && g->tensors.len == 0 && !g->library);
    } else {
        check_round_trip(g);
        check_copy(g);
        check_functions(g);
        check_lowering(g);
    }
    bd_message_fini(&m);
    braid_graph_free(g);
    return 0;
}
