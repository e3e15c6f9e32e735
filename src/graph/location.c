// The lines of the program that build. A line is noted by thread, because building functions take graphs,
// descriptions, optimizers and others, and a macro can note a line before any of them.
#include "graph/location.h"

#include "graph/builder.h"
#include <string.h>

static _Thread_local struct {
    const char *file; // the program's, or NULL
    int line;
} here;

void braid_here(const char *file, int line)
{
    here.file = file;
    here.line = line;
}

void bd_location_forget(void)
{
    here.file = NULL;
}

void bd_location_remember(braid_op *n)
{
    if (!here.file) return;
    bd_builder *b = bd_graph_builder(n->graph);
    // The program's text may be unloaded before the graph is freed. Consecutive nodes share a copy.
    if (!b->file || strcmp(b->file, here.file) != 0) b->file = bd_arena_strdup(&n->graph->arena, here.file);
    n->file = b->file;
    n->line = here.line;
}

void bd_location_name(braid_status *st)
{
    if (st->code && here.file) bd_status_suffix(st, " (built at %s:%d)", here.file, here.line);
}

const char *braid_op_built_at(const braid_op *op, int *line)
{
    if (line) *line = op ? op->line : 0;
    return op ? op->file : NULL;
}

// ---- Errors of runs ----

void bd_location_name_nodes(const braid_graph *g, braid_status *st)
{
    static const char mark[] = "{{node ";
    enum {
        NODES_MAX = 4 // a message that names more is long enough
    };
    const braid_op *named[NODES_MAX];
    int count = 0;
    for (const char *at = st->message; at && (at = strstr(at, mark)) && count < NODES_MAX;) {
        at += strlen(mark);
        const char *end = strstr(at, "}}");
        if (!end) break;
        const braid_op *op = bd_map_get_n(&g->by_name, at, (size_t)(end - at));
        bool is_new = op && op->file;
        for (int i = 0; is_new && i < count; i++)
            is_new = named[i] != op;
        if (is_new) named[count++] = op;
    }
    for (int i = 0; i < count; i++)
        bd_status_suffix(st, "%s%s%sbuilt at %s:%d%s", i ? ", " : " (", count > 1 ? named[i]->name : "",
                         count > 1 ? " " : "", named[i]->file, named[i]->line, i == count - 1 ? ")" : "");
}
