// Graphs as text, for tests of the nodes that a function builds.
#include "base/testing/test.h"

#include "train/testing/graph_text.h"

#include "base/strbuf.h"
#include "graph/graph.h"

static void append_class(bd_strbuf *text, const braid_op *n)
{
    const bd_attr *places = bd_node_attr(n, "_class");
    for (int i = 0; places && i < places->list.count; i++)
        bd_strbuf_appendf(text, " =%s", places->list.s[i].data + strlen("loc:@"));
}

static void append_node(bd_strbuf *text, const braid_op *n)
{
    bd_strbuf_appendf(text, "%s = %s", n->name, n->op_type);
    for (int i = 0; i < n->input_count; i++)
        bd_strbuf_appendf(text, " %s:%d", n->inputs[i].op->name, n->inputs[i].index);
    for (int i = 0; i < n->control_count; i++)
        bd_strbuf_appendf(text, " ^%s", n->controls[i]->name);
    append_class(text, n);
    if (*n->device) bd_strbuf_appendf(text, " @%s", n->device);
    bd_strbuf_append(text, "\n");
}

char *graph_text_of(const braid_graph *g, const char *prefix)
{
    bd_strbuf text = {0};
    for (int i = 0; i < braid_graph_num_ops(g); i++) {
        const braid_op *n = braid_graph_op(g, i);
        if (bd_str_starts_with(n->name, prefix)) append_node(&text, n);
    }
    return bd_strbuf_take(&text);
}

void expect_nodes(const braid_graph *g, const char *prefix, const char *want)
{
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_ok(st);
    char *got = graph_text_of(g, prefix);
    assert_string_equal(got, want);
    bd_free(got);
}

void expect_graph(const braid_graph *g, const char *want)
{
    expect_nodes(g, "", want);
}
