// Pipelines of datasets for tests.
#include "ops/testing/pipeline.h"

#include "base/testing/test.h"
#include "op/io_pool.h"
#include "ops/testing/op_test.h"
#include "ops/testing/op_text.h"
#include <stdio.h>

enum {
    DATASETS_MAX = 16,
    INPUTS_MAX = 16,
    COMPONENTS_MAX = 16,
    TEXT_MAX = 4096
};

typedef struct made_datasets {
    braid_out items[DATASETS_MAX];
    int count;
} made_datasets;

static int read_types(const char *text, braid_dtype types[COMPONENTS_MAX])
{
    const char *rest = text, *piece;
    size_t len;
    int count = 0;
    while (bd_split_next(&rest, ',', &piece, &len))
        types[count++] = bd_dtype_parse(piece, len);
    return count;
}

static void set_components(braid_op_desc *d, const bd_op_def *def, const char *types)
{
    braid_dtype t[COMPONENTS_MAX];
    braid_shape shapes[COMPONENTS_MAX];
    int count = read_types(types, t);
    for (int i = 0; i < count; i++)
        shapes[i] = BD_SHAPE_UNKNOWN;
    if (bd_op_def_attr(def, "output_types")) braid_op_attr_type_list(d, "output_types", t, count);
    if (bd_op_def_attr(def, "output_shapes")) braid_op_attr_shape_list(d, "output_shapes", shapes, count);
}

// How many datasets an op takes first; `*as_list`: as one argument.
static int dataset_inputs(const bd_op_def *def, const made_datasets *made, bool *as_list)
{
    int count = 0;
    *as_list = def->input_count > 0 && def->inputs[0].type == BRAID_VARIANT && def->inputs[0].number_attr;
    if (*as_list) return made->count;
    while (count < def->input_count && def->inputs[count].type == BRAID_VARIANT)
        count++;
    return count;
}

// A constant; `string[] ""` is an empty one.
braid_out pipeline_const(op_live *l, const char *text)
{
    if (strcmp(text, "string[] \"\"") != 0) return op_live_const(l, text);
    braid_tensor empty;
    assert_true(bd_tensor_alloc(&empty, BRAID_STRING, &BD_SCALAR));
    braid_op_desc *d = braid_op_begin(l->graph, "Const", NULL);
    braid_op_attr_type(d, "dtype", BRAID_STRING);
    braid_op_attr_tensor(d, "value", &empty);
    bd_tensor_fini(&empty);
    return braid_op_end_out(d);
}

// The inputs that are no datasets: each argument of the op takes one, a list as many as are left when the
// arguments behind it have theirs.
static void add_inputs(op_live *l, braid_op_desc *d, const bd_op_def *def, int first, const char *text,
                       int *list_len)
{
    braid_out in[INPUTS_MAX];
    int count = 0, at = 0;
    const char *rest = text, *piece;
    size_t len;
    char one[TEXT_MAX];
    while (*text && bd_split_next(&rest, ';', &piece, &len)) {
        snprintf(one, sizeof one, "%.*s", (int)len, piece);
        in[count++] = pipeline_const(l, one + strspn(one, " "));
    }
    int lists = 0;
    for (int i = first; i < def->input_count; i++)
        lists += def->inputs[i].number_attr || def->inputs[i].type_list_attr;
    *list_len = lists > 0 ? (count - (def->input_count - first - lists)) / lists : 0;
    for (int i = first; i < def->input_count; i++) {
        bool is_list = def->inputs[i].number_attr || def->inputs[i].type_list_attr;
        int n = is_list ? *list_len : 1;
        if (is_list)
            braid_op_input_list(d, in + at, n);
        else
            braid_op_input(d, in[at]);
        at += n;
    }
    assert_int_equal(at, count);
}

static void add_op(op_live *l, made_datasets *made, const char *name, const char *attrs, const char *inputs,
                   const char *types)
{
    const bd_op_def *def = bd_op_lookup(name);
    if (!def) fail_msg("no op %s", name);
    bool as_list;
    int list_len, datasets = dataset_inputs(def, made, &as_list);
    braid_op_desc *d = braid_op_begin(l->graph, name, NULL);
    braid_out *from = made->items + made->count - datasets;
    if (as_list) braid_op_input_list(d, from, datasets);
    for (int i = 0; i < datasets && !as_list; i++)
        braid_op_input(d, from[i]);
    made->count -= datasets;
    add_inputs(l, d, def, as_list ? 1 : datasets, inputs, &list_len);
    set_components(d, def, types);
    op_text_attrs(d, def, attrs);
    made->items[made->count++] = braid_op_end_out(d);
}

braid_out pipeline_make(op_live *l, const char *text, const char *types)
{
    made_datasets made = {.count = 0};
    char copy[TEXT_MAX];
    assert_true(strlen(text) < sizeof copy);
    strcpy(copy, text);
    for (char *at = copy; *(at += strspn(at, " "));) {
        const char *attrs = NULL;
        char *name = at, *open = strchr(at, '('), *close = strchr(at, ')'), *brace = strchr(at, '{');
        assert_true(open && close);
        *open = *close = '\0';
        at = close + 1;
        if (brace && brace < open) {
            *brace = '\0';
            brace[1 + strcspn(brace + 1, "}")] = '\0';
            attrs = brace + 1;
        }
        add_op(l, &made, name, attrs, open + 1, types);
    }
    assert_int_equal(made.count, 1);
    BD_STATUS(st);
    if (braid_graph_status(l->graph, st)) fail_msg("%s: %s", text, braid_status_message(st));
    return made.items[0];
}

static braid_op *iterator_node(op_live *l, const char *name, const braid_out *inputs, int count,
                               const char *types)
{
    braid_op_desc *d = braid_op_begin(l->graph, name, NULL);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    const bd_op_def *def = bd_op_lookup(name);
    set_components(d, def, types);
    if (bd_op_def_attr(def, "shared_name")) braid_op_attr_string(d, "shared_name", "");
    if (bd_op_def_attr(def, "container")) braid_op_attr_string(d, "container", "");
    return braid_op_end(d);
}

pipeline pipeline_open(op_live *l, const char *text, const char *types)
{
    return pipeline_over(l, pipeline_make(l, text, types), types);
}

pipeline pipeline_over(op_live *l, braid_out dataset, const char *types)
{
    braid_out iterator = {.op = iterator_node(l, "IteratorV2", NULL, 0, types)};
    pipeline p = {.live = l};
    p.make = iterator_node(l, "MakeIterator", (braid_out[]){dataset, iterator}, 2, types);
    p.next = iterator_node(l, "IteratorGetNext", &iterator, 1, types);
    p.next_optional = iterator_node(l, "IteratorGetNextAsOptional", &iterator, 1, types);
    BD_STATUS(st);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    return p;
}

void pipeline_expect(const pipeline *p, const char *want)
{
    const char *rest = want, *piece;
    size_t len;
    while (bd_split_next(&rest, '|', &piece, &len)) {
        char one[TEXT_MAX];
        for (; len > 0 && *piece == ' '; len--)
            piece++;
        while (len > 0 && piece[len - 1] == ' ')
            len--;
        snprintf(one, sizeof one, "%.*s", (int)len, piece);
        op_live_run(p->live, p->next, "", strcmp(one, "end") == 0 ? "OutOfRange: End of sequence" : one);
    }
    if (bd_str_ends_with(want, "end")) op_live_run(p->live, p->next, "", "OutOfRange: End of sequence");
}

static void check_cardinality(op_live *l, braid_out dataset, const pipeline_case *c)
{
    char want[64];
    int64_t n = c->cardinality == 0 && strncmp(c->want, "end", 3) != 0 ? -2 : c->cardinality;
    snprintf(want, sizeof want, "int64[] %lld", (long long)n);
    op_live_run(l, iterator_node(l, "DatasetCardinality", &dataset, 1, c->types), "", want);
}

static void check_case(const pipeline_case *c, bool has_threads)
{
    op_live *l = op_live_new();
    bd_io_pool *io_pool = l->io_pool = has_threads ? bd_io_pool_new() : NULL;
    pipeline p = pipeline_open(l, c->text, c->types);
    for (int i = 0; i < 2; i++) {
        op_live_run(l, p.make, "", "");
        pipeline_expect(&p, c->want);
    }
    if (!has_threads) check_cardinality(l, pipeline_make(l, c->text, c->types), c);
    bd_resources_clear(l->resources, NULL);
    bd_io_pool_free(io_pool);
    op_live_free(l);
}

void pipeline_test(const pipeline_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        print_message("%s\n", cases[i].text);
        check_case(&cases[i], false);
        check_case(&cases[i], true);
    }
}
