// Parts of a graph besides its nodes: its sticky error, its seed, collections, owned objects.
#include "graph/builder.h"

#include "graph/location.h"
#include "graph/turns.h"

// ---- Sticky errors ----

void bd_graph_fail_status(braid_graph *g, const braid_status *st)
{
    BD_GRAPH_TURN(g);
    if (g->status.code) return;
    bd_status_copy(&g->status, st);
    bd_location_name(&g->status);
}

void braid_graph_fail(braid_graph *g, braid_code code, const char *format, ...)
{
    BD_GRAPH_TURN(g);
    if (!g || g->status.code || code == BRAID_OK) return;
    va_list args;
    va_start(args, format);
    bd_vfail(&g->status, code, format, args);
    va_end(args);
    bd_location_name(&g->status);
}

braid_code braid_graph_status(const braid_graph *g, braid_status *status)
{
    if (!g) {
        if (status) bd_fail(status, BRAID_INVALID_ARGUMENT, "There is no graph");
        return BRAID_INVALID_ARGUMENT;
    }
    BD_GRAPH_TURN(g);
    if (status) bd_status_copy(status, &g->status);
    return g->status.code;
}

braid_code braid_graph_take_error(braid_graph *g, braid_status *status)
{
    BD_GRAPH_TURN(g);
    const braid_code code = braid_graph_status(g, status);
    if (g) bd_status_fini(&g->status);
    return code;
}

// ---- Seed, things owned, collections ----

void braid_graph_set_seed(braid_graph *g, int64_t seed)
{
    if (!g) return;
    bd_builder *b = bd_graph_builder(g);
    b->has_seed = true;
    b->seed = seed;
}

void braid_graph_own(braid_graph *g, void *what, void (*release)(void *what))
{
    if (g)
        bd_array_push(&bd_graph_builder(g)->owned, (bd_owned){.what = what, .release = release});
    else
        release(what);
}

void *braid_graph_owned(const braid_graph *g, void (*release)(void *what))
{
    if (!g) return NULL;
    const bd_builder *b = g->builder;
    for (size_t i = 0; b && i < b->owned.len; i++)
        if (b->owned.items[i].release == release) return b->owned.items[i].what;
    return NULL;
}

static bd_collection *make_collection(braid_graph *g, const char *name)
{
    bd_builder *b = bd_graph_builder(g);
    bd_collection *c = bd_map_get(&b->collections, name);
    if (c) return c;
    c = bd_calloc(1, sizeof *c);
    bd_map_put(&b->collections, name, c);
    return c;
}

static const bd_collection *find_collection(const braid_graph *g, const char *name)
{
    return g && g->builder && name ? bd_map_get(&g->builder->collections, name) : NULL;
}

void braid_collect(braid_graph *g, const char *collection, braid_out out)
{
    if (g && collection && out.op) bd_array_push(&make_collection(g, collection)->items, out);
}

const braid_out *braid_collection(const braid_graph *g, const char *collection, int *count)
{
    const bd_collection *c = find_collection(g, collection);
    *count = c ? (int)c->items.len : 0;
    return c ? c->items.items : NULL;
}

void braid_collect_object(braid_graph *g, const char *collection, void *object)
{
    if (g && collection && object) bd_array_push(&make_collection(g, collection)->objects, object);
}

void *const *braid_collection_objects(const braid_graph *g, const char *collection, int *count)
{
    const bd_collection *c = find_collection(g, collection);
    *count = c ? (int)c->objects.len : 0;
    return c ? c->objects.items : NULL;
}
