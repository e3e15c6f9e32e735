// GraphDef import and export.
#include "graph/graph.h"

#include "base/log.h"
#include "base/wire.h"
#include "graph/testing/test_ops.h"
#include <stdio.h>
#include <stdlib.h>

// ---- Messages by hand ----

typedef struct builder {
    bd_message m;
    bd_wire_writer w;
} builder;

static void begin(builder *b)
{
    bd_message_init(&b->m);
    bd_wire_writer_init(&b->w, &b->m);
}

static char *end(builder *b, size_t *len)
{
    bd_wire_writer_finish(&b->w);
    *len = b->m.bytes;
    char *data = malloc(b->m.bytes + 1);
    bd_message_gather(&b->m, data);
    bd_message_fini(&b->m);
    return data;
}

static void put_sub(builder *b, uint32_t field, builder *sub)
{
    size_t len;
    char *data = end(sub, &len);
    bd_wire_put_bytes(&b->w, field, data, len);
    free(data);
}

static void put_text(builder *b, uint32_t field, const char *text)
{
    bd_wire_put_bytes(&b->w, field, text, strlen(text));
}

// An attr "name=kind:value": T=type:1, N=int:2, s=string:x, b=bool:1, v=size:3 (the shape of a vector), empty=none.
static void put_attr(builder *node, const char *text)
{
    char name[64], kind[16] = {0}, value[64] = {0};
    assert_true(sscanf(text, "%63[^=]=%15[^:]:%63s", name, kind, value) >= 2);
    builder entry, attr;
    begin(&entry);
    begin(&attr);
    put_text(&entry, 1, name);
    if (strcmp(kind, "string") == 0) put_text(&attr, 2, value);
    if (strcmp(kind, "int") == 0) bd_wire_put_uint(&attr.w, 3, (uint64_t)atoll(value));
    if (strcmp(kind, "bool") == 0) bd_wire_put_uint(&attr.w, 5, (uint64_t)atoll(value));
    if (strcmp(kind, "type") == 0) bd_wire_put_uint(&attr.w, 6, (uint64_t)atoll(value));
    if (strcmp(kind, "size") == 0) {
        builder shape, dim;
        begin(&shape);
        begin(&dim);
        bd_wire_put_uint(&dim.w, 1, (uint64_t)atoll(value));
        put_sub(&shape, 2, &dim);
        put_sub(&attr, 7, &shape);
    }
    if (strcmp(kind, "garbage") == 0) bd_wire_put_raw(&attr.w, "\x0a\xff", 2);
    if (strcmp(kind, "wiretype") == 0) bd_wire_put_fixed64(&attr.w, 3, 1);
    if (strcmp(kind, "badtensor") == 0) bd_wire_put_bytes(&attr.w, 8, "\x08\xe7\x07", 3); // dtype 999
    put_sub(&entry, 2, &attr);
    put_sub(node, 5, &entry);
}

// A GraphDef from lines "name = Op(input, ^control) T=type:1 device=/cpu:0"; `extra` is appended unchanged.
static char *graph_def(const char *text, const char *extra, size_t extra_len, size_t *len)
{
    builder g;
    begin(&g);
    const char *rest = text, *line;
    size_t line_len;
    while (*text && bd_split_next(&rest, '\n', &line, &line_len)) {
        char copy[512], *save = NULL;
        if (line_len == 0) continue;
        snprintf(copy, sizeof copy, "%.*s", (int)line_len, line);
        builder node;
        begin(&node);
        char *word = strtok_r(copy, " ", &save);
        put_text(&node, 1, strcmp(word, "''") == 0 ? "" : word);
        strtok_r(NULL, " ", &save); // "="
        word = strtok_r(NULL, "(", &save);
        put_text(&node, 2, strcmp(word, "''") == 0 ? "" : word);
        char *inputs = strtok_r(NULL, ")", &save), *save_input = NULL;
        for (char *in = strtok_r(inputs, ", ", &save_input); in; in = strtok_r(NULL, ", ", &save_input))
            put_text(&node, 3, in);
        for (char *attr = strtok_r(NULL, " ", &save); attr; attr = strtok_r(NULL, " ", &save)) {
            if (strncmp(attr, "device=", 7) == 0)
                put_text(&node, 4, attr + 7);
            else
                put_attr(&node, attr);
        }
        put_sub(&g, 1, &node);
    }
    bd_wire_put_raw(&g.w, extra, extra_len);
    return end(&g, len);
}

static braid_code import_text(braid_graph *g, const char *text, braid_status *st)
{
    size_t len;
    char *data = graph_def(text, "", 0, &len);
    braid_code code = braid_graph_import(g, data, len, st);
    free(data);
    return code;
}

#define X "x = Placeholder( ) dtype=type:1\n"

// ---- Import ----

static void nodes_are_imported_in_any_order(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    import_text(g, "late = Mul(early, x:0, ^c) device=/job:ps\nearly = Neg(x)\n" X "c = NoOp( )", st);
    assert_ok(st);
    assert_int_equal(braid_graph_num_ops(g), 4);
    assert_string_equal(braid_graph_op(g, 0)->name, "late"); // nodes keep their places
    const braid_op *late = braid_graph_find(g, "late");
    assert_string_equal(late->device, "/job:ps");
    assert_string_equal(late->inputs[0].op->name, "early");
    assert_string_equal(late->controls[0]->name, "c");
    assert_int_equal(bd_node_attr_type(late, "T"), BRAID_FLOAT);
    braid_graph_free(g);
}

static void loops_are_imported(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    import_text(
        g, X "m = Merge(e, n) T=type:1 N=int:2\ne = Enter(x) frame_name=string:f\nn = NextIteration(m)", st);
    assert_ok(st);
    const braid_op *merge = braid_graph_find(g, "m");
    assert_ptr_equal(merge->inputs[1].op, braid_graph_find(g, "n"));
    size_t len;
    void *data = braid_graph_export(g, &len, st);
    assert_ok(st);
    braid_graph *back = braid_graph_new();
    braid_graph_import(back, data, len, st);
    assert_ok(st);
    assert_string_equal(braid_graph_find(back, "m")->inputs[1].op->name, "n");
    free(data);
    braid_graph_free(back);
    braid_graph_free(g);
}

static void a_second_import_extends_the_graph(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    import_text(g, X, st);
    assert_ok(st);
    import_text(g, "y = Neg(x)\nz = Neg(y)", st);
    assert_ok(st);
    assert_ptr_equal(braid_graph_find(g, "y")->inputs[0].op, braid_graph_find(g, "x"));
    // A bad graph adds no node, not even its first ones.
    import_text(g, "w = Neg(z)\nbad = Neg(nobody)", st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Node 'bad': Unknown input node 'nobody'");
    assert_int_equal(braid_graph_num_ops(g), 3);
    assert_null(braid_graph_find(g, "w"));
    import_text(g, "w = Neg(z)", st);
    assert_ok(st);
    braid_graph_free(g);
}

static void invalid_graphs_are_refused_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {X "x = NoOp( )", "Node 'x' is not unique"},
        {"old = NoOp( )", "includes node 'old', which was created by a previous call to Create or Extend"},
        {"a = Neg(b)", "Node 'a': Unknown input node 'b'"},
        {"a = NoOp(^b)", "Node 'a': Unknown input node '^b'"},
        {X "a = Mul(^old, x, x)", "Node 'a': Control dependencies must come after regular dependencies"},
        {X "a = Neg(x:1)", "Connecting to invalid output 1 of source node x which has 1 outputs"},
        {X "a = Neg(x:-1)", "Node 'a': Unknown input node 'x:-1'"},
        {X "a = Neg(x:99999999)", "Node 'a': Unknown input node 'x:99999999'"},
        {"a = Neg(b) T=type:1\nb = Neg(a) T=type:1", "2 nodes in a cycle, through node 'a'"},
        {"a = Neg(a) T=type:1", "1 nodes in a cycle, through node 'a'"},
        // What comes after a cycle is not in it.
        {"c = Neg(b) T=type:1\nd = Neg(c) T=type:1\na = Neg(b) T=type:1\nb = Neg(a) T=type:1",
         "2 nodes in a cycle, through node 'a'"},
        {"bad:name = NoOp( )", "Node 'bad:name': Node name contains invalid characters"},
        {"^a = NoOp( )", "Node name contains invalid characters"},
        {"'' = NoOp( )", "Node name contains invalid characters"},
        {"a = ''( )", "Node 'a' does not specify an operation"},
        {"a = Placeholder( ) dtype=int:1",
         "Node 'a' (op: 'Placeholder'): attr 'dtype' is of kind int, expected type"},
        {"a = Placeholder( ) dtype=none", "attr 'dtype' is of kind none, expected type"},
        {"a = Placeholder( )", "Node 'a' (op: 'Placeholder'): NodeDef missing attr 'dtype'"},
        {"a = Placeholder( ) dtype=type:77",
         "Node 'a' (op: 'Placeholder'): Attr 'dtype': 77 is no element type"},
        {"a = Placeholder( ) dtype=garbage", "Attr 'dtype': malformed"},
        {"a = Placeholder( ) dtype=wiretype", "Attr 'dtype': malformed"},
        {"a = Const( ) dtype=type:1 value=badtensor", "Node 'a' (op: 'Const'): Attr 'value': "},
        {X "v = Variable( ) dtype=type:1 shape=string:x",
         "Node 'v' (op: 'Variable'): attr 'shape' is of kind string"},
        {X "a = Assign(x, x)", "incompatible with expected float_ref"},
        {X "m = Merge(x, n) T=type:1 N=int:2\nn = NextIteration(i)\ni = Placeholder( ) dtype=type:3",
         "Input 1 of node m was passed int32 from n:0 incompatible with expected float."},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        test_no_op(g, "old");
        import_text(g, cases[i].text, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, cases[i].words);
        assert_int_equal(braid_graph_num_ops(g), 1);
        braid_graph_free(g);
    }
}

static void malformed_bytes_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        const char *words;
    } cases[] = {
        {"\x0a", 1, "Malformed GraphDef"}, // a node without length
        {"\x0a\x05"
         "ab",
         4, "Malformed GraphDef"},                         // shorter than its length field
        {"\x0a\x02\x0a\x7f", 4, "Malformed GraphDef"},     // a name longer than the node
        {"\x08\x01", 2, "Malformed GraphDef"},             // a number where nodes are
        {"\x0a\x03\x0a\x01\x00", 5, "Malformed GraphDef"}, // a zero byte in a name
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, "Malformed GraphDef"},
        {"\x22\x02\x10\x7f"
         "\x22\x03\x10\xff\x01",
         9, "min consumer version 255 above current version 134"},
        {"\x22\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13,
         "GraphDef producer version -1 below min producer 0"},
        {"\x22\x04\x1a\x02\x86\x01", 6, "GraphDef disallows consumer version 134"}, // packed
        {"\x22\x03\x18\x86\x01", 5, "GraphDef disallows consumer version 134"},     // not packed
        {"\x22\x02\x0a", 3, "Malformed GraphDef"},
    };
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph_import(g, cases[i].bytes, cases[i].len, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, cases[i].words);
    }
    braid_graph_import(g, NULL, 1, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "There is no GraphDef");
    braid_graph_import(g, "", 0, st);
    assert_ok(st);
    assert_int_equal(braid_graph_num_ops(g), 0);
    braid_graph_free(g);
}

// Every prefix of a good message ends in an error or in fewer nodes, never in a crash.
static void truncated_messages_are_errors(void **state)
{
    (void)state;
    size_t len;
    char *data = graph_def(X "y = Mul(x, x) T=type:1 device=/cpu:0\nz = Neg(y, ^x)", "", 0, &len);
    for (size_t cut = 0; cut < len; cut++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        char *part = malloc(cut + 1);
        memcpy(part, data, cut);
        if (braid_graph_import(g, part, cut, st)) assert_int_equal(braid_graph_num_ops(g), 0);
        free(part);
        braid_graph_free(g);
    }
    free(data);
}

static void the_last_value_of_a_repeated_attr_wins(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    import_text(g, "x = Placeholder( ) dtype=int:5 dtype=type:1 dtype=type:3", st);
    assert_ok(st);
    assert_int_equal(bd_node_attr_type(braid_graph_find(g, "x"), "dtype"), BRAID_INT32);
    braid_graph_free(g);
}

static void shapes_that_tensorflow_notes_for_itself_do_not_matter(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    import_text(g, "x = Placeholder( ) dtype=type:1 _input_shapes=size:-5", st);
    assert_ok(st);
    import_text(g, "y = Placeholder( ) dtype=type:1 shape=size:-5", st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Attr 'shape': a shape has dimension -5");
    braid_graph_free(g);
}

static char log_lines[512];

static void collect_log(braid_log_level level, const char *message, void *arg)
{
    (void)level, (void)arg;
    strncat(log_lines, message, sizeof log_lines - strlen(log_lines) - 2);
    strcat(log_lines, "\n");
}

static void unknown_attrs_are_kept_and_logged_once(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    log_lines[0] = 0;
    braid_set_log_sink(collect_log, NULL);
    braid_set_log_level(BRAID_LOG_INFO);
    import_text(
        g, "x = Placeholder( ) dtype=type:1 newer=int:3 _output_shapes=int:1\ny = Neg(x) other=bool:1", st);
    braid_set_log_sink(NULL, NULL);
    assert_ok(st);
    assert_string_equal(
        log_lines,
        "GraphDef: 2 attrs that their ops do not have are ignored (the first: 'newer' of node 'x')\n");
    assert_int_equal(bd_node_attr_int(braid_graph_find(g, "x"), "newer"), 3);
    assert_int_equal(bd_node_attr_int(braid_graph_find(g, "x"), "_output_shapes"), 1);
    braid_graph_free(g);
}

static void an_unknown_op_survives_a_round_trip(void **state)
{
    (void)state;
    BD_STATUS(st);
    size_t len, back_len;
    // Attrs in the order of their names, as they are written.
    char *data = graph_def(
        X "odd = NobodyKnows(x, x:0, ^x) device=/gpu:0 a=int:-5 b=string:text c=type:101 d=none e=bool:0\n"
          "user = Neg(odd:12) T=type:1",
        "\x12\x07\x0a\x05\x0a\x03\x0a\x01"
        "F\x22\x04\x08\x18\x10\x05",
        15, &len);
    // "x:0" is written as "x".
    braid_graph *g = braid_graph_new();
    braid_graph_import(g, data, len, st);
    assert_ok(st);
    assert_int_equal(g->producer, 24);
    assert_int_equal(g->min_consumer, 5);
    char *back = braid_graph_export(g, &back_len, st);
    assert_ok(st);
    char *want = graph_def(
        X "odd = NobodyKnows(x, x, ^x) device=/gpu:0 a=int:-5 b=string:text c=type:101 d=none e=bool:0\n"
          "user = Neg(odd:12) T=type:1",
        "\x12\x07\x0a\x05\x0a\x03\x0a\x01"
        "F\x22\x04\x08\x18\x10\x05",
        15, &len);
    assert_int_equal(back_len, bd_graph_write_size(g, 0, 0));
    // The two writers order device and inputs differently, so the graphs are compared after an import.
    braid_graph *a = braid_graph_new(), *b = braid_graph_new();
    braid_graph_import(a, back, back_len, st);
    assert_ok(st);
    braid_graph_import(b, want, len, st);
    assert_ok(st);
    for (int i = 0; i < 3; i++) {
        const braid_op *x = braid_graph_op(a, i), *y = braid_graph_op(b, i);
        assert_string_equal(x->op_type, y->op_type);
        assert_string_equal(x->device, y->device);
        assert_int_equal(x->attr_count, y->attr_count);
        for (int k = 0; k < x->attr_count; k++)
            assert_true(bd_attr_equal(&x->attrs[k].value, &y->attrs[k].value));
    }
    assert_int_equal(braid_graph_find(a, "user")->inputs[0].index, 12);
    assert_non_null(bd_library_find(a->library, "F"));
    free(data);
    free(back);
    free(want);
    braid_graph_free(a);
    braid_graph_free(b);
    braid_graph_free(g);
}

// ---- Export ----

static void put_all_attrs(braid_op_desc *d)
{
    braid_tensor *t = braid_tensor_from(BRAID_INT32, BRAID_SHAPE(2), (int32_t[]){1, -2}, NULL);
    braid_op_attr_int(d, "_int", -7);
    braid_op_attr_int(d, "_zero", 0);
    braid_op_attr_float(d, "_float", 1.5f);
    braid_op_attr_bool(d, "_bool", true);
    braid_op_attr_type(d, "_type", BRAID_HALF);
    braid_op_attr_string(d, "_string", "a b");
    braid_op_attr_shape(d, "_shape", BRAID_SHAPE(2, -1, 0));
    braid_op_attr_shape(d, "_scalar", BRAID_SCALAR);
    braid_op_attr_shape(d, "_unknown", BRAID_SHAPE_UNKNOWN);
    braid_op_attr_tensor(d, "_tensor", t);
    braid_op_attr_int_list(d, "_ints", (int64_t[]){1, -1, 1LL << 40}, 3);
    braid_op_attr_float_list(d, "_floats", (float[]){0, -1}, 2);
    braid_op_attr_type_list(d, "_types", (braid_dtype[]){BRAID_FLOAT, BRAID_STRING}, 2);
    braid_op_attr_shape_list(d, "_shapes", (braid_shape[]){BRAID_SCALAR, BRAID_SHAPE(-1)}, 2);
    braid_op_attr_string_list(d, "_strings", (const char *[]){"", "x"}, 2);
    braid_op_attr_int_list(d, "_empty", NULL, 0);
    braid_tensor_free(t);
}

static void each_kind_of_attr_survives_a_round_trip(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new(), *back = braid_graph_new();
    braid_op_desc *d = braid_op_begin(g, "NoOp", "n");
    put_all_attrs(d);
    braid_op *n = braid_op_end(d);
    assert_graph_ok(g);
    size_t len;
    void *data = braid_graph_export(g, &len, st);
    assert_ok(st);
    assert_int_equal(len, bd_graph_write_size(g, 0, 0));
    braid_graph_import(back, data, len, st);
    assert_ok(st);
    const braid_op *m = braid_graph_find(back, "n");
    assert_int_equal(m->attr_count, 16);
    for (int i = 0; i < m->attr_count; i++) {
        assert_string_equal(m->attrs[i].name, n->attrs[i].name);
        if (!bd_attr_equal(&m->attrs[i].value, &n->attrs[i].value)) fail_msg("%s", m->attrs[i].name);
    }
    assert_int_equal(back->producer, 134);
    free(data);
    braid_graph_free(back);
    braid_graph_free(g);
}

static void defaults_are_not_written(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    test_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 2));
    braid_out x = braid_graph_find_out(g, "x");
    braid_op_desc *d = braid_op_begin(g, "MatMul", "m");
    braid_op_input(d, x);
    braid_op_input(d, x);
    braid_op_attr_bool(d, "transpose_a", false); // the default, set explicitly
    braid_op_end(d);
    size_t len;
    char *data = braid_graph_export(g, &len, st);
    assert_ok(st);
    assert_non_null(memmem(data, len, "transpose_a", 11));
    assert_null(memmem(data, len, "transpose_b", 11));
    free(data);
    braid_graph_free(g);
}

// A consumer that does not know an attr refuses the node: TensorFlow 1.15's MatMul has no grad_a.
static void attrs_later_than_tensorflow_1_15_are_written_unless_default(void **state)
{
    (void)state;
    BD_STATUS(st);
    for (int given = -1; given <= 1; given++) { // not given, false as by default, true
        braid_graph *g = braid_graph_new();
        test_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 2));
        braid_out x = braid_graph_find_out(g, "x");
        braid_op_desc *d = braid_op_begin(g, "MatMul", "m");
        braid_op_input(d, x);
        braid_op_input(d, x);
        if (given >= 0) braid_op_attr_bool(d, "grad_a", given);
        braid_op_end(d);
        assert_graph_ok(g);
        size_t len;
        char *data = braid_graph_export_from(g, 0, true, &len, st);
        assert_ok(st);
        assert_non_null(memmem(data, len, "transpose_a", 11));
        assert_int_equal(memmem(data, len, "grad_a", 6) != NULL, given > 0);
        free(data);
        data = braid_graph_export(g, &len, st);
        assert_int_equal(memmem(data, len, "grad_a", 6) != NULL, given > 0);
        free(data);
        braid_graph_free(g);
    }
}

static void export_can_write_assigned_devices_and_new_nodes_only(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new(), *back = braid_graph_new();
    test_no_op(g, "first");
    braid_op *n = test_no_op(g, "second");
    n->assigned_device = "/job:ps/replica:0/task:0/device:CPU:0";
    bd_message m;
    bd_wire_writer w;
    bd_message_init(&m);
    bd_wire_writer_init(&w, &m);
    bd_graph_write(g, 1, BD_GRAPH_PLACED, &w);
    bd_wire_writer_finish(&w);
    assert_int_equal(m.bytes, bd_graph_write_size(g, 1, BD_GRAPH_PLACED));
    bd_graph_import_message(back, &m, st);
    assert_ok(st);
    assert_int_equal(braid_graph_num_ops(back), 1);
    assert_string_equal(braid_graph_op(back, 0)->device, "/job:ps/replica:0/task:0/device:CPU:0");
    bd_message_fini(&m);
    braid_graph_free(back);
    braid_graph_free(g);
}

static void nodes_are_exported_alone_or_from_a_number_on(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new(), *back = braid_graph_new();
    const braid_out x = test_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 2));
    bd_b2(g, "MatMul", "product", x, x);
    braid_graph_import(back, NULL, 0, st);
    test_placeholder(back, "x", BRAID_FLOAT, BRAID_SHAPE(2, 2));
    size_t len, node_len;
    char *rest = braid_graph_export_from(g, 1, true, &len, st);
    assert_ok(st);
    char *node = braid_op_node_def(braid_graph_op(g, 1), true, &node_len, st);
    assert_ok(st);
    assert_non_null(memmem(rest, len, node, node_len));
    assert_non_null(memmem(node, node_len, "transpose_b", 11)); // defaults too
    assert_null(memmem(rest, len, "Placeholder", 11));
    assert_int_equal(braid_graph_import(back, rest, len, st), BRAID_OK);
    assert_int_equal(braid_graph_num_ops(back), 2);
    free(node);
    free(rest);
    node = braid_op_node_def(braid_graph_op(g, 1), false, &node_len, st);
    assert_null(memmem(node, node_len, "transpose_b", 11));
    free(node);
    free(braid_graph_export_from(g, 2, false, &len, st)); // versions alone
    assert_ok(st);
    assert_null(braid_graph_export_from(g, 3, false, &len, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "The graph has 2 nodes, and none number 3");
    assert_null(braid_op_node_def(NULL, false, &len, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "There is no node");
    braid_graph_free(back);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_imported_in_any_order),
        cmocka_unit_test(loops_are_imported),
        cmocka_unit_test(a_second_import_extends_the_graph),
        cmocka_unit_test(invalid_graphs_are_refused_whole),
        cmocka_unit_test(malformed_bytes_are_errors),
        cmocka_unit_test(truncated_messages_are_errors),
        cmocka_unit_test(the_last_value_of_a_repeated_attr_wins),
        cmocka_unit_test(shapes_that_tensorflow_notes_for_itself_do_not_matter),
        cmocka_unit_test(unknown_attrs_are_kept_and_logged_once),
        cmocka_unit_test(an_unknown_op_survives_a_round_trip),
        cmocka_unit_test(each_kind_of_attr_survives_a_round_trip),
        cmocka_unit_test(defaults_are_not_written),
        cmocka_unit_test(attrs_later_than_tensorflow_1_15_are_written_unless_default),
        cmocka_unit_test(export_can_write_assigned_devices_and_new_nodes_only),
        cmocka_unit_test(nodes_are_exported_alone_or_from_a_number_on),
    };
    return BD_RUN_TESTS(tests);
}
