// GraphDefs that clients send: whether TensorFlow's master would take their names.
#include "graph/graph_def_external.h"

#include "base/alloc.h"
#include "graph/attr_wire.h"
#include "graph/graph_def_internal.h"
#include <string.h>

// Letters, digits and _.-/ without _-/ at the beginning. In names of nodes several such pieces may have a >
// between them.
static size_t name_len(const char *text, size_t len, bool is_node)
{
    bool begins = true;
    size_t i = 0;
    for (; i < len; i++) {
        const char c = text[i];
        const bool is_plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
        const bool separates = is_node && c == '>' && !begins;
        if (!is_plain && !separates && (begins || !memchr("_-/", c, 3))) break;
        begins = separates;
    }
    return begins ? 0 : i;
}

// NAME, NAME:0, NAME:12 or ^NAME.
static bool is_input_name(const bd_bytes *text)
{
    const char *rest = text->data, *end = text->data + text->len;
    const bool is_control = rest < end && *rest == '^';
    rest += is_control;
    const size_t len = name_len(rest, (size_t)(end - rest), false);
    rest += len;
    if (len == 0 || rest == end) return len > 0;
    if (is_control || *rest++ != ':' || rest == end) return false;
    if (*rest == '0' && end - rest > 1) return false;
    while (rest < end && *rest >= '0' && *rest <= '9')
        rest++;
    return rest == end;
}

typedef struct node_names {
    bd_bytes name;
    BD_ARRAY(bd_bytes) inputs;
} node_names;

static braid_code check_node(const node_names *n, braid_status *st)
{
    if (n->name.len == 0 || name_len(n->name.data, n->name.len, true) != n->name.len)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Illegal op name '%.200s'", n->name.data);
    for (size_t i = 0; i < n->inputs.len && !st->code; i++) {
        const bd_bytes *input = &n->inputs.items[i];
        if (!is_input_name(input))
            bd_fail(st, BRAID_INVALID_ARGUMENT, "Illegal op input name '%.200s'", input->data);
        else if (i && input[-1].data[0] == '^' && input->data[0] != '^')
            bd_fail(st, BRAID_INVALID_ARGUMENT, "All control inputs must follow all data inputs");
    }
    return st->code ? bd_status_suffix(st, " [[{{node %.200s}}]]", n->name.data) : BRAID_OK;
}

static bool read_node(bd_wire_reader *in, node_names *n, bd_arena *arena)
{
    uint32_t field;
    bd_wire_type type;
    n->name = (bd_bytes){.data = "", .len = 0};
    n->inputs.len = 0;
    while (bd_wire_next(in, &field, &type)) {
        bd_bytes text;
        if (type != BD_WIRE_BYTES || (field != BD_NODE_DEF_NAME && field != BD_NODE_DEF_INPUT))
            bd_wire_skip(in, type);
        else if (!bd_wire_get_bytes(in, &text, arena))
            break;
        else if (field == BD_NODE_DEF_NAME)
            n->name = text;
        else
            bd_array_push(&n->inputs, text);
    }
    return !in->failed;
}

braid_code bd_graph_def_check_external(const bd_message *graph_def, braid_status *st)
{
    bd_wire_reader in = bd_wire_reader_of(graph_def), sub;
    uint32_t field;
    bd_wire_type type;
    node_names n = {0};
    bd_arena arena = {0};
    while (!st->code && bd_wire_next(&in, &field, &type)) {
        if (field != BD_GRAPH_DEF_NODE || type != BD_WIRE_BYTES) {
            bd_wire_skip(&in, type);
        } else {
            if (!bd_wire_get_sub(&in, &sub) || !read_node(&sub, &n, &arena)) break;
            check_node(&n, st);
            bd_arena_reset(&arena);
        }
    }
    bd_array_free(&n.inputs);
    bd_arena_fini(&arena);
    return st->code;
}
