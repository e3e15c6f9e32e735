// Whether functions depend on more than their arguments.
#include "graph/function.h"

#include "graph/graph.h"
#include <string.h>

// The limit of nested calls that are checked; functions below it count as stateless.
#define DEPTH_MAX 100

// Ops that are stateful so that they are not folded or merged, but give the same each time, as far as data
// sets are concerned.
static bool is_harmless(const bd_op_def *def)
{
    static const char *const names[] = {"Assert",          "Print",
                                        "PrintV2",         "Timestamp",
                                        "LookupTableFind", "LookupTableFindV2",
                                        "LookupTableSize", "LookupTableSizeV2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(def->name, names[i]) == 0) return true;
    return def->output_count == 1 && def->outputs[0].type == BRAID_VARIANT && strstr(def->name, "Dataset");
}

typedef struct walk {
    const bd_library *library;
    bd_map seen; // functions; any value
    int depth;
} walk;

static const char *state_of(walk *w, const char *function);

static const char *state_of_call(walk *w, const bd_attr *attr)
{
    BD_STATUS(ignored);
    bd_arena arena = {0};
    bd_attr_tensors tensors = {0};
    bd_func func;
    const char *found = NULL;
    if (!bd_func_parse(&attr->s, &arena, &tensors, &func, ignored)) found = state_of(w, func.name);
    for (size_t i = 0; i < tensors.len; i++)
        braid_tensor_free(tensors.items[i]);
    bd_array_free(&tensors);
    bd_arena_fini(&arena);
    return found;
}

// A node that calls functions is stateful if they are.
static const char *state_of_node(walk *w, const bd_function_node *n)
{
    const bd_op_def *def = bd_op_lookup(n->op);
    const char *found = NULL;
    bool calls = false;
    if (!def) return state_of(w, n->op);
    for (int i = 0; i < n->attr_count && !found; i++) {
        if (n->attrs[i].value.kind != BD_ATTR_FUNC) continue;
        calls = true;
        found = state_of_call(w, &n->attrs[i].value);
    }
    if (found || calls) return found;
    return def->op->flags & BD_OP_STATEFUL && !is_harmless(def) ? def->name : NULL;
}

static const char *state_of(walk *w, const char *function)
{
    const bd_function *f = bd_library_find(w->library, function);
    const char *found = NULL;
    if (!f || w->depth == DEPTH_MAX || bd_map_put(&w->seen, function, w)) return NULL;
    w->depth++;
    for (int i = 0; i < f->node_count && !found; i++)
        found = state_of_node(w, &f->nodes[i]);
    w->depth--;
    return found;
}

const char *bd_function_state(const bd_library *l, const char *function)
{
    walk w = {.library = l};
    const char *found = state_of(&w, function);
    bd_map_fini(&w.seen);
    return found;
}
