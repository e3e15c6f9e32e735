// Graphs of TensorFlow 1.3's programs, as recorded, to compare with Braid's.
#include "base/testing/test.h"

#include "train/testing/recorded.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/wire.h"
#include "graph/graph.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Large enough for every recorded graph.
#define FILE_MAX (1 << 20)

// ---- Reading ----

static size_t read_file(const char *path, void *data)
{
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s cannot be read", path);
    size_t len = fread(data, 1, FILE_MAX, file);
    fclose(file);
    assert_true(len < FILE_MAX);
    return len;
}

// The bytes of the first `count` nodes: a GraphDef begins with them, each a field.
static size_t bytes_of_nodes(const void *data, size_t len, int count)
{
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, data, len);
    uint32_t field;
    bd_wire_type type;
    for (int i = 0; i < count; i++) {
        assert_true(bd_wire_next(&in, &field, &type));
        assert_true(bd_wire_skip(&in, type));
    }
    return len - in.left;
}

static braid_graph *import(const void *data, size_t len)
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_graph_import(g, data, len, st);
    assert_ok(st);
    return g;
}

static bool is_gradient(const braid_graph *g, int index)
{
    return index < braid_graph_num_ops(g) &&
           bd_str_starts_with(braid_op_name(braid_graph_op(g, index)), "gradients/");
}

// Puts the gradients that TensorFlow 1.15 builds, if they lie beside the recorded graph, in the place of
// those of 1.3. Returns the new length.
static size_t renew_gradients(const char *path, char *data, size_t len)
{
    char beside[512];
    snprintf(beside, sizeof beside, "%.*sgradients_1_15.nodes", (int)(strrchr(path, '/') + 1 - path), path);
    FILE *there = fopen(beside, "rb");
    if (!there) return len;
    fclose(there);
    braid_graph *g = import(data, len);
    int from = 0, to;
    while (from < braid_graph_num_ops(g) && !is_gradient(g, from))
        from++;
    for (to = from; is_gradient(g, to);)
        to++;
    braid_graph_free(g);
    char *nodes = bd_malloc(FILE_MAX);
    const size_t begin = bytes_of_nodes(data, len, from), end = bytes_of_nodes(data, len, to);
    const size_t count = read_file(beside, nodes);
    assert_true(begin + count + len - end < FILE_MAX);
    memmove(data + begin + count, data + end, len - end);
    memcpy(data + begin, nodes, count);
    bd_free(nodes);
    return begin + count + len - end;
}

braid_graph *recorded_graph(const char *path, const char *before)
{
    char *data = bd_malloc(FILE_MAX);
    size_t len = renew_gradients(path, data, read_file(path, data));
    braid_graph *g = import(data, len);
    if (before) {
        len = bytes_of_nodes(data, len, recorded_index(g, before));
        braid_graph_free(g);
        g = import(data, len);
    }
    bd_free(data);
    return g;
}

int recorded_index(const braid_graph *g, const char *name)
{
    for (int i = 0; i < braid_graph_num_ops(g); i++) {
        if (strcmp(braid_op_name(braid_graph_op(g, i)), name) == 0) return i;
    }
    fail_msg("no node %s", name);
    return -1;
}

// ---- Comparing ----

// "a:1 b ^c ^d", control inputs sorted.
static char *inputs_of(const braid_op *n)
{
    bd_strbuf text = {0};
    for (int i = 0; i < n->input_count; i++)
        bd_strbuf_appendf(&text, "%s:%d ", n->inputs[i].op->name, n->inputs[i].index);
    const char *last = "";
    for (int i = 0; i < n->control_count; i++) { // the next in alphabetical order
        const char *next = NULL;
        for (int k = 0; k < n->control_count; k++) {
            const char *name = n->controls[k]->name;
            if (strcmp(name, last) > 0 && (!next || strcmp(name, next) < 0)) next = name;
        }
        if (next) bd_strbuf_appendf(&text, "^%s ", next);
        last = next ? next : last;
    }
    return bd_strbuf_take(&text);
}

// Prints a difference and returns one.
static int differ(const char *name, const char *what, const char *got, const char *want)
{
    print_error("%s: %s is '%s' and not '%s'\n", name, what, got, want);
    return 1;
}

static int attr_differences(const braid_op *got, const braid_op *want)
{
    int n = 0;
    for (int i = 0; i < want->attr_count; i++) {
        const bd_attr *value = bd_node_attr(got, want->attrs[i].name);
        if (!value || !bd_attr_equal(value, &want->attrs[i].value))
            n += differ(got->name, want->attrs[i].name, value ? "another value" : "missing", "that");
    }
    for (int i = 0; i < got->attr_count; i++) {
        if (!bd_node_attr(want, got->attrs[i].name))
            n += differ(got->name, got->attrs[i].name, "there", "missing");
    }
    return n;
}

int recorded_differences(const braid_op *got, const braid_op *want)
{
    int n = 0;
    if (strcmp(got->op_type, want->op_type) != 0) n += differ(got->name, "op", got->op_type, want->op_type);
    if (strcmp(got->device, want->device) != 0) n += differ(got->name, "device", got->device, want->device);
    char *got_inputs = inputs_of(got), *want_inputs = inputs_of(want);
    if (strcmp(got_inputs, want_inputs) != 0) n += differ(got->name, "inputs", got_inputs, want_inputs);
    bd_free(got_inputs);
    bd_free(want_inputs);
    return n + attr_differences(got, want);
}

static bool leaves_out(const char *but_for, const char *name)
{
    return but_for && bd_str_starts_with(name, but_for);
}

void expect_as_recorded(const braid_graph *got, const braid_graph *want, int from, int to,
                        const char *but_for)
{
    int differences = 0;
    for (int i = from; i < to; i++) {
        const braid_op *w = braid_graph_op(want, i), *g = braid_graph_find(got, w->name);
        if (leaves_out(but_for, w->name)) continue;
        differences += g ? recorded_differences(g, w) : differ(w->name, "node", "missing", w->op_type);
    }
    for (int i = 0; i < braid_graph_num_ops(got); i++) {
        const braid_op *g = braid_graph_op(got, i);
        if (!braid_graph_find(want, g->name)) differences += differ(g->name, "node", g->op_type, "missing");
    }
    assert_int_equal(differences, 0);
}

void expect_recorded_order(const braid_graph *got, const braid_graph *want, int from, int to,
                           const char *but_for)
{
    for (int i = from, k = from; i < to; i++) {
        const char *name = braid_op_name(braid_graph_op(want, i));
        if (leaves_out(but_for, name)) continue;
        assert_true(k < braid_graph_num_ops(got));
        const char *built = braid_op_name(braid_graph_op(got, k++));
        if (bd_str_starts_with(name, "gradients/") && bd_str_starts_with(built, "gradients/")) continue;
        assert_string_equal(built, name);
    }
}
