// Fuzzes all ops of the registry: any client may send any node with any inputs.
//
// The bytes choose a program: nodes with attrs and inputs, made one after another, each run by a session at
// once. The outputs of a node are inputs for later ones, so that variables, queues, tables and data sets meet
// the ops that use them. When the bytes are used up, pseudo-random numbers derived from them continue, so
// that few bytes are a whole program. Files are in memory.
//
// With BRAID_FUZZ_PRINT in the environment nodes are written to stderr before they run.
#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "graph/builder.h"
#include "graph/op.h"
#include "graph/shape_fn.h"
#include "io/testing/memory_fs.h"
#include "op/kernel.h"
#include "support/choices.h"
#include <braid/braid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 4    // under test in a program
#define FEEDS_MAX 64   // of a program
#define LIST_MAX 3     // inputs of a list
#define ARGUMENT_MAX 8 // of any list: numbers may be hostile
#define ATTRS_MAX 48   // of an op; asserted
#define TRIES 8        // to make a node that runs
#define RUN_MS 100     // then the waits end
#define SOURCES_DEEP 3 // a node that makes a resource for one that takes it, and so on
#define POOL_BYTES ((size_t)1 << 26)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

// Larger allocations of a node fail, as on a machine with little memory: the node must report it and not end
// the process.
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=512";
}

typedef struct program {
    choices in;
    braid_graph *graph;
    braid_session *session;
    BD_ARRAY(braid_out) outs; // of nodes that ran
    braid_out placeholders[FEEDS_MAX];
    braid_tensor *values[FEEDS_MAX];
    int feed_count;
    BD_ARRAY(braid_tensor *) tensors; // of attrs
} program;

// The values of a node's attrs, which its inputs' types depend on.
typedef struct node_types {
    const char *op;
    braid_dtype type; // the first of its attrs
    bd_attr attrs[ATTRS_MAX];
} node_types;

// Ops that give a type of which there are no constants: resources, variants, references (at [type], those at
// the end).
static BD_ARRAY(const bd_op_entry *) sources[BRAID_UINT64 + 2];
#define REF_SOURCES (BRAID_UINT64 + 1)

typedef BD_ARRAY(braid_out) input_list;

#define USUAL_TYPES                                                                                          \
    (BD_DTYPE_BIT(BRAID_FLOAT) | BD_DTYPE_BIT(BRAID_INT32) | BD_DTYPE_BIT(BRAID_INT64) |                     \
     BD_DTYPE_BIT(BRAID_STRING) | BD_DTYPE_BIT(BRAID_BOOL))

static bool is_printing;

// ---- Inputs ----

// A constant, or a placeholder that is unknown until it is fed.
static braid_out make_value(program *p, braid_dtype type)
{
    braid_tensor *t = choose_tensor(&p->in, type);
    if (p->feed_count == FEEDS_MAX || choose_one_in(&p->in, 2)) {
        braid_out out = braid_const(p->graph, NULL, t);
        braid_tensor_free(t);
        return out;
    }
    braid_out out = braid_placeholder(p->graph, NULL, type, BRAID_SHAPE_UNKNOWN);
    p->placeholders[p->feed_count] = out;
    p->values[p->feed_count++] = t;
    return out;
}

// ---- Attrs ----

static bd_attr choose_scalar(program *p, const bd_attr_def *def, bd_attr_kind kind)
{
    bd_attr a = {.kind = kind};
    switch (kind) {
    case BD_ATTR_STRING:
        a.s = choose_bytes(&p->in);
        if (def->allowed_string_count > 0) {
            const char *s = def->allowed_strings[choose_below(&p->in, (uint64_t)def->allowed_string_count)];
            a.s = (bd_bytes){s, strlen(s)};
        }
        break;
    case BD_ATTR_INT: a.i = choose_int(&p->in); break;
    case BD_ATTR_FLOAT: a.f = (float)choose_number(&p->in); break;
    case BD_ATTR_BOOL: a.b = choose_below(&p->in, 2); break;
    case BD_ATTR_TYPE: {
        const bd_dtype_set set =
            def->allowed_types ? def->allowed_types : USUAL_TYPES | BD_DTYPE_BIT(BRAID_VARIANT);
        a.type =
            choose_type(&p->in, set & USUAL_TYPES && !choose_one_in(&p->in, 4) ? set & USUAL_TYPES : set);
        break;
    }
    case BD_ATTR_SHAPE:
        a.shape = choose_shape(&p->in);
        if (choose_one_in(&p->in, 4)) a.shape = BRAID_SHAPE_UNKNOWN;
        if (a.shape.rank > 0 && choose_one_in(&p->in, 4))
            a.shape.dims[0] = choose_one_in(&p->in, 2) ? -1 : llabs(choose_hostile_int(&p->in) / 2);
        break;
    case BD_ATTR_TENSOR:
        a.tensor = choose_tensor(&p->in, choose_type(&p->in, USUAL_TYPES));
        bd_array_push(&p->tensors, a.tensor);
        break;
    case BD_ATTR_FUNC:
        a.s = (bd_bytes){"\x0a\x01"
                         "f",
                         3};
        break;
    default: break;
    }
    return a;
}

static bd_attr choose_list(program *p, const bd_attr_def *def)
{
    bd_attr a = {.kind = BD_ATTR_LIST, .item_kind = def->item_kind};
    a.list.count =
        choose_one_in(&p->in, 2) ? 4 : (int)choose_below(&p->in, 4); // four, as windows and strides are
    if (def->has_minimum && def->minimum < 8) a.list.count = (int)bd_max(a.list.count, def->minimum);
    const size_t n = (size_t)a.list.count + 1;
    a.list.s = bd_arena_alloc(&p->in.arena, n * sizeof(braid_shape)); // the largest kind
    for (int i = 0; i < a.list.count; i++) {
        const bd_attr item = choose_scalar(p, def, def->item_kind);
        switch (def->item_kind) {
        case BD_ATTR_STRING:
        case BD_ATTR_FUNC: a.list.s[i] = item.s; break;
        case BD_ATTR_INT: a.list.i[i] = item.i; break;
        case BD_ATTR_FLOAT: a.list.f[i] = item.f; break;
        case BD_ATTR_BOOL: a.list.b[i] = item.b; break;
        case BD_ATTR_TYPE: a.list.type[i] = item.type; break;
        case BD_ATTR_SHAPE: a.list.shape[i] = item.shape; break;
        default: a.list.count = 0;
        }
    }
    return a;
}

static bool is_number_of_inputs(const bd_op_def *def, int attr)
{
    for (int i = 0; i < def->input_count; i++) {
        if (def->inputs[i].number_attr_index == attr) return true;
    }
    return false;
}

static bd_attr choose_attr(program *p, const bd_op_def *def, int i, const bd_kernel *kernel)
{
    const bd_attr_def *ad = &def->attrs[i];
    if (ad->kind == BD_ATTR_LIST) return choose_list(p, ad);
    bd_attr a = choose_scalar(p, ad, ad->kind);
    if (ad->kind == BD_ATTR_TYPE && kernel && !choose_one_in(&p->in, 16)) {
        const bd_dtype_set all = ((bd_dtype_set)1 << (BRAID_UINT64 + 1)) - 2;
        const bd_dtype_set served =
            bd_kernel_types(kernel, ad->name) & (ad->allowed_types ? ad->allowed_types : all);
        if (served && served != all) a.type = choose_type(&p->in, served);
    }
    if (is_number_of_inputs(def, i))
        a.i = (int64_t)bd_max(ad->has_minimum ? ad->minimum : 0, (int64_t)choose_below(&p->in, LIST_MAX + 1));
    return a;
}

// Chooses the attrs that are not left to their defaults; returns their number.
static int choose_attrs(program *p, const bd_op_def *def, node_types *types, bd_named_attr attrs[ATTRS_MAX])
{
    const bd_op *op = def->op;
    const bd_kernel *kernel =
        op->kernel_count > 0 ? &op->kernels[choose_below(&p->in, (uint64_t)op->kernel_count)] : NULL;
    int count = 0;
    BD_ASSERT(def->attr_count <= ATTRS_MAX);
    for (int i = 0; i < def->attr_count; i++) {
        const bd_attr_def *ad = &def->attrs[i];
        bd_attr a = choose_attr(p, def, i, kernel);
        const bool says_types = a.kind == BD_ATTR_TYPE || is_number_of_inputs(def, i);
        const bool is_default = ad->has_default && !choose_one_in(&p->in, says_types ? 2 : 4);
        types->attrs[i] = is_default ? ad->default_value : a;
        if (ad->kind == BD_ATTR_TYPE && !types->type) types->type = types->attrs[i].type;
        if (!is_default) attrs[count++] = (bd_named_attr){.name = ad->name, .value = a};
    }
    return count;
}

// ---- Nodes ----

static void add_node(program *p, const bd_op_entry *entry, int depth);
static bool run_node(program *p, braid_op *n);

static bool has_constants(braid_dtype type)
{
    return type != BRAID_INVALID && type != BRAID_RESOURCE && type != BRAID_VARIANT && !bd_dtype_is_ref(type);
}

static braid_out take_out(program *p, braid_dtype type)
{
    int fitting = 0;
    for (size_t i = 0; i < p->outs.len; i++)
        fitting += braid_out_dtype(p->outs.items[i]) == type;
    if (fitting == 0) return (braid_out){NULL, 0};
    for (size_t i = 0, k = (size_t)choose_below(&p->in, (uint64_t)fitting);; i++) {
        if (braid_out_dtype(p->outs.items[i]) == type && k-- == 0) return p->outs.items[i];
    }
}

// The bytes that two names have in common, at most.
static size_t likeness(const char *a, const char *b)
{
    size_t most = 0;
    for (const char *x = a; *x; x++) {
        for (const char *y = b; *y; y++) {
            size_t n = 0;
            while (x[n] && x[n] == y[n])
                n++;
            if (n > most) most = n;
        }
    }
    return most;
}

// An op that gives a thing of this kind, most often one that is named like its user: a stack for StackPush.
static const bd_op_entry *choose_source(program *p, size_t kind, const char *user)
{
    const bd_op_entry *best = sources[kind].items[choose_below(&p->in, sources[kind].len)];
    if (choose_one_in(&p->in, 4)) return best;
    for (size_t i = 0; i < sources[kind].len; i++) {
        if (likeness(sources[kind].items[i]->name, user) > likeness(best->name, user))
            best = sources[kind].items[i];
    }
    return best;
}

static braid_out make_resource(program *p, braid_dtype type)
{
    braid_tensor *t = choose_tensor(&p->in, type);
    braid_op_desc *d = braid_op_begin(p->graph, "VarHandleOp", NULL);
    braid_op_attr_type(d, "dtype", type);
    braid_op_attr_shape(d, "shape", t->shape);
    braid_out v = braid_op_end_out(d);
    const braid_out inputs[] = {v, braid_const(p->graph, NULL, t)};
    braid_op *assign = braid_op_add(p->graph, "AssignVariableOp", NULL, inputs, 2);
    if (assign) run_node(p, assign);
    braid_tensor_free(t);
    return v;
}

static braid_out make_variable(program *p, braid_dtype type)
{
    braid_tensor *t = choose_tensor(&p->in, type);
    braid_op_desc *d = braid_op_begin(p->graph, "VariableV2", NULL);
    braid_op_attr_type(d, "dtype", type);
    braid_op_attr_shape(d, "shape", t->shape);
    braid_out v = braid_op_end_out(d);
    if (v.op && !choose_one_in(&p->in, 8)) {
        braid_op *assign =
            braid_op_add(p->graph, "Assign", NULL, (const braid_out[]){v, braid_const(p->graph, NULL, t)}, 2);
        if (assign) v = (braid_out){assign, 0};
    }
    braid_tensor_free(t);
    return v;
}

static braid_out make_input(program *p, braid_dtype type, const node_types *node, int depth)
{
    if (p->outs.len > 0 && (!has_constants(type) ? !choose_one_in(&p->in, 4) : choose_one_in(&p->in, 4))) {
        braid_out out = take_out(p, type);
        if (out.op) return out;
    }
    if (has_constants(type)) return make_value(p, type);
    if (bd_dtype_is_ref(type) && (has_constants(bd_dtype_base(type)) && bd_dtype_base(type) != BRAID_STRING))
        return make_variable(p, bd_dtype_base(type));
    if (type == BRAID_RESOURCE && has_constants(node->type) && choose_one_in(&p->in, 2))
        return make_resource(p, node->type);
    const size_t kind = bd_dtype_is_ref(type) ? REF_SOURCES : (size_t)type;
    if (depth < SOURCES_DEEP && sources[kind].len > 0)
        add_node(p, choose_source(p, kind, node->op), depth + 1);
    return take_out(p, type);
}

// Appends the inputs of one argument. Returns false when there is no value of a type.
static bool make_argument(program *p, const bd_arg_def *arg, const node_types *t, int depth,
                          input_list *inputs)
{
    const bd_attr *list = arg->type_list_attr_index >= 0 ? &t->attrs[arg->type_list_attr_index] : NULL;
    braid_dtype type = arg->type_attr_index >= 0 ? t->attrs[arg->type_attr_index].type : arg->type;
    int64_t count = arg->number_attr_index >= 0 ? t->attrs[arg->number_attr_index].i : 1;
    if (list) count = list->list.count;
    for (int64_t i = 0; i < bd_min(count, ARGUMENT_MAX); i++) {
        if (list) type = list->list.type[i];
        const braid_out input = make_input(p, arg->is_ref ? bd_dtype_ref(type) : type, t, depth);
        if (!input.op) return false;
        bd_array_push(inputs, input);
    }
    return true;
}

static void print_node(const braid_op *n)
{
    fprintf(stderr, "%s = %s(", n->name, n->op_type);
    for (int i = 0; i < n->input_count; i++)
        fprintf(stderr, "%s%s:%d", i ? ", " : "", n->inputs[i].op->name, n->inputs[i].index);
    fprintf(stderr, ")\n");
}

// Calls the shape function again with memory that the sanitizer checks: a graph's arena hides accesses past
// the end.
static void check_shape_function(const braid_op *n)
{
    if (!n->def->op->shape) return;
    BD_STATUS(st);
    braid_shape *inputs = bd_calloc((size_t)n->input_count, sizeof *inputs);
    bd_shape_ctx c = {.node = n,
                      .input_count = n->input_count,
                      .output_count = n->output_count,
                      .inputs = inputs,
                      .outputs = bd_calloc((size_t)n->output_count, sizeof(braid_shape))};
    for (int i = 0; i < n->input_count; i++)
        inputs[i] = braid_out_shape(n->inputs[i]);
    for (int i = 0; i < n->output_count; i++)
        c.outputs[i] = BD_SHAPE_UNKNOWN;
    n->def->op->shape(&c, st);
    bd_free(inputs);
    bd_free(c.outputs);
}

// Runs a node; its outputs are inputs for others if it succeeds.
static bool run_node(program *p, braid_op *n)
{
    BD_STATUS(st);
    braid_feed feeds[FEEDS_MAX];
    braid_fetch fetches[16];
    braid_tensor *got[16] = {NULL};
    int fetch_count = 0;
    for (int i = 0; i < p->feed_count; i++)
        feeds[i] = (braid_feed){p->placeholders[i], p->values[i]};
    for (int i = 0; i < n->output_count && fetch_count < 16; i++, fetch_count++)
        fetches[fetch_count] = (braid_fetch){{n, i}, &got[fetch_count]};
    const braid_run_args args = {.feeds = feeds,
                                 .feed_count = p->feed_count,
                                 .fetches = fetches,
                                 .fetch_count = fetch_count,
                                 .targets = &n,
                                 .target_count = 1};
    if (is_printing) print_node(n);
    braid_session_run(p->session, &args, st);
    if (is_printing) fprintf(stderr, "  %s\n", st->code ? braid_status_message(st) : "OK");
    for (int i = 0; i < fetch_count; i++) {
        if (!got[i]) continue;
        BD_ASSERT(got[i]->dtype == bd_dtype_base(n->output_types[i]));
        bd_array_push(&p->outs, ((braid_out){n, i}));
        braid_tensor_free(got[i]);
    }
    return !st->code;
}

// One node of the op, and whether it ran: most choices are refused.
static bool try_node(program *p, const bd_op_entry *entry, int depth)
{
    BD_STATUS(st);
    const bd_op_def *def = bd_op_lookup(entry->name);
    node_types types = {.op = entry->name, .type = BRAID_INVALID};
    bd_named_attr attrs[ATTRS_MAX];
    input_list inputs = {0};
    const int attr_count = choose_attrs(p, def, &types, attrs);
    bool has_inputs = true;
    for (int i = 0; i < def->input_count && has_inputs; i++)
        has_inputs = make_argument(p, &def->inputs[i], &types, depth, &inputs);
    braid_status_clear(&p->graph->status); // of a helper that was refused
    const bd_node_spec spec = {.name = bd_graph_unique_name(p->graph, "op"),
                               .op_type = entry->name,
                               .inputs = inputs.items,
                               .input_count = (int)inputs.len,
                               .attrs = attrs,
                               .attr_count = attr_count};
    braid_op *n;
    bool runs = false;
    if (has_inputs && !bd_graph_add(p->graph, &spec, &n, st)) {
        check_shape_function(n);
        runs = run_node(p, n);
    } else if (is_printing) {
        fprintf(stderr, "%s: %s\n", entry->name, st->code ? braid_status_message(st) : "no input");
    }
    bd_array_free(&inputs);
    return runs;
}

static void add_node(program *p, const bd_op_entry *entry, int depth)
{
    for (int i = 0; i < (depth == 0 ? TRIES : 2); i++) {
        if (try_node(p, entry, depth)) break;
    }
}

// ---- Programs ----

// The functions that nodes call: they take as many arguments as fit.
static const char library_text[] =
    "library { function { signature { name: 'f' input_arg { name: 'x' type: DT_INT64 }"
    "  output_arg { name: 'y' type: DT_INT64 } } node_def { name: 'i' op: 'Identity' input: 'x'"
    "  attr { key: 'T' value { type: DT_INT64 } } } ret { key: 'y' value: 'i:output:0' } } }";
static void *library;
static size_t library_len;

static bool is_excluded(const char *op)
{
    return strcmp(op, "Abort") == 0; // its purpose is to end the process
}

static void find_sources(void)
{
    for (size_t i = 0; i < bd_op_table_len; i++) {
        const bd_op_entry *entry = &bd_op_table[i];
        const bd_op_def *def = bd_op_lookup(entry->name);
        BD_ASSERT(def);
        for (int k = 0; k < def->output_count && !is_excluded(entry->name); k++) {
            const bd_arg_def *arg = &def->outputs[k];
            if (arg->is_ref) bd_array_push(&sources[REF_SOURCES], entry);
            if (!has_constants(arg->type) && arg->type_attr_index < 0)
                bd_array_push(&sources[arg->type], entry);
        }
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    BD_STATUS(st);
    braid_set_log_level(BRAID_LOG_NONE);
    is_printing = getenv("BRAID_FUZZ_PRINT") != NULL;
    find_sources();
    braid_graph *g = braid_graph_new();
    braid_graph_import_text(g, library_text, sizeof library_text - 1, st);
    library = braid_graph_export(g, &library_len, st);
    braid_graph_free(g);
    BD_ASSERT(!st->code);
    return 0;
}

static void run_program(program *p)
{
    const uint64_t count = 1 + choose_below(&p->in, NODES_MAX);
    for (uint64_t i = 0; i < count; i++) {
        const bd_op_entry *entry = &bd_op_table[choose_below(&p->in, bd_op_table_len)];
        if (!is_excluded(entry->name)) add_node(p, entry, 0);
    }
}

static uint64_t hash_of(const uint8_t *data, size_t size)
{
    uint64_t h = size;
    for (size_t i = 0; i < size; i++)
        h = (h ^ data[i]) * 0x100000001b3;
    return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BD_STATUS(st);
    program p = {.in = {.data = data, .len = size, .rng = bd_rng_init(hash_of(data, size))},
                 .graph = braid_graph_new()};
    bd_buffer_pool_set_limit(POOL_BYTES); // small nodes may ask for large tensors
    bd_memory_fs_install();
    braid_graph_import(p.graph, library, library_len, st);
    const braid_session_options options = {.inter_op_threads = 1,
                                           .intra_op_threads = 1,
                                           .operation_timeout_ms = RUN_MS,
                                           .disabled_rewrites =
                                               choose_one_in(&p.in, 2) ? 0 : BRAID_REWRITE_ALL};
    p.session = braid_session_open(p.graph, &options, st);
    BD_ASSERT(p.session);
    run_program(&p);
    braid_session_close(p.session, st);
    for (int i = 0; i < p.feed_count; i++)
        braid_tensor_free(p.values[i]);
    for (size_t i = 0; i < p.tensors.len; i++)
        braid_tensor_free(p.tensors.items[i]);
    bd_array_free(&p.tensors);
    bd_array_free(&p.outs);
    braid_graph_free(p.graph);
    bd_arena_fini(&p.in.arena);
    bd_memory_fs_uninstall();
    return 0;
}
