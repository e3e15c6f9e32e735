// Fuzzes the ops, all that the registry holds: any client may send any node with any inputs.
//
// The bytes choose a program: nodes with attrs and inputs, made one after another, each run by a session as soon as it is there. What
// a node gives is there for those after it to take, so that variables, queues, tables and data sets meet the ops that use them. When the
// bytes are used up, numbers that follow from them go on, so that few bytes are a whole program. Files are in memory.
//
// With BRAID_FUZZ_PRINT in the environment nodes are written to stderr before they run.
#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "base/random.h"
#include "graph/builder.h"
#include "graph/op.h"
#include "io/testing/memory_fs.h"
#include "op/kernel.h"
#include <braid/braid.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 6    // under test in a program
#define FEEDS_MAX 64   // of a program
#define LIST_MAX 3     // inputs of a list
#define ARGUMENT_MAX 8 // of any list: numbers may be hostile
#define ATTRS_MAX 48   // of an op; asserted
#define RUN_MS 100     // then what waits ends
#define SOURCES_DEEP 3 // a node that makes a resource for one that takes it, and so on
#define POOL_BYTES ((size_t)1 << 26)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

// What a node asks for beyond this is not there, as on a machine with little memory: it must answer that, not end the process.
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=512";
}

typedef struct program {
    const uint8_t *data; // what is still to be taken of the input
    size_t len;
    bd_rng rng; // goes on behind it
    braid_graph *graph;
    braid_session *session;
    BD_ARRAY(braid_out) outs; // of nodes that ran
    braid_out placeholders[FEEDS_MAX];
    braid_tensor *values[FEEDS_MAX];
    int feed_count;
    braid_shape last_shape;
    BD_ARRAY(braid_tensor *) tensors; // of attrs
    bd_arena arena;
} program;

// The values of a node's attrs, which its inputs' types depend on.
typedef struct node_types {
    bd_attr attrs[ATTRS_MAX];
} node_types;

// Ops that give a type of which there are no constants: resources, variants, references (at [type], those at the end).
static BD_ARRAY(const bd_op_entry *) sources[BRAID_UINT64 + 2];
#define REF_SOURCES (BRAID_UINT64 + 1)

typedef BD_ARRAY(braid_out) input_list;

#define USUAL_TYPES                                                                                          \
    (BD_DTYPE_BIT(BRAID_FLOAT) | BD_DTYPE_BIT(BRAID_INT32) | BD_DTYPE_BIT(BRAID_INT64) |                     \
     BD_DTYPE_BIT(BRAID_STRING) | BD_DTYPE_BIT(BRAID_BOOL))

static bool is_printing;

// ---- Choices ----

static uint64_t below(program *p, uint64_t n)
{
    uint64_t number = 0;
    if (p->len == 0) return bd_rng_below(&p->rng, n);
    for (uint64_t span = 1; span < n && p->len > 0; span *= 256) {
        number = number << 8 | *p->data++;
        p->len--;
    }
    return number % n;
}

static bool one_in(program *p, uint64_t n)
{
    return below(p, n) == 0;
}

static braid_dtype choose_type(program *p, bd_dtype_set set)
{
    const uint64_t count = (uint64_t)__builtin_popcount(set);
    if (count == 0) return BRAID_FLOAT;
    for (uint64_t k = below(p, count); k > 0; k--)
        set &= set - 1;
    return (braid_dtype)__builtin_ctz(set);
}

static int64_t hostile_int(program *p)
{
    static const int64_t ints[] = {
        INT64_MIN, INT64_MAX, INT32_MIN,        INT32_MAX, (int64_t)1 << 62, (int64_t)1 << 32, UINT32_MAX, -2,
        1 << 16,   1 << 28,   (int64_t)1 << 40, 46341,     INT64_MIN + 1,    INT64_MAX - 1};
    return ints[below(p, BD_COUNTOF(ints))];
}

static int64_t choose_int(program *p)
{
    return one_in(p, 8) ? hostile_int(p) : (int64_t)below(p, 8) - 2;
}

static double choose_number(program *p)
{
    static const double numbers[] = {NAN,  INFINITY, -INFINITY, DBL_MAX, -DBL_MAX,
                                     1e30, -1e10,    DBL_MIN,   0x1p63,  -0x1p31};
    if (one_in(p, 8)) return numbers[below(p, BD_COUNTOF(numbers))];
    return ((double)below(p, 64) - 16) / 8;
}

static bd_bytes choose_bytes(program *p)
{
    static const char *const words[] = {"",
                                        "a",
                                        "1",
                                        "-2.5e3",
                                        "/f",
                                        "ab,cd,e",
                                        "nan",
                                        "9223372036854775808",
                                        "\xc3\xa9",
                                        "%d",
                                        "f",
                                        "[a-z]+(",
                                        "(.*)",
                                        "UTF-8",
                                        "NHWC",
                                        "/job:a/task:0",
                                        "a\xff b",
                                        "GZIP",
                                        "{\"a\":1",
                                        "i,ij->j",
                                        "\n\x01",
                                        "YWJj",
                                        "\x08\x01\x12\x02\x08\x02"};
    if (one_in(p, 6)) { // bytes of the input
        const size_t len = p->len < 24 ? p->len : (size_t)below(p, 24);
        char *copy = bd_arena_alloc(&p->arena, len + 1);
        if (len > 0) memcpy(copy, p->data, len);
        copy[len] = '\0';
        return (bd_bytes){copy, len};
    }
    const char *word = words[below(p, BD_COUNTOF(words))];
    return (bd_bytes){word, strlen(word)};
}

static braid_shape choose_shape(program *p)
{
    braid_shape s = p->last_shape;
    const uint64_t how = below(p, 8);
    if (how < 3) return s;
    if (how == 3 && s.rank > 0) {
        s.dims[below(p, (uint64_t)s.rank)] = (int64_t)below(p, 5);
    } else {
        s.rank = (int)below(p, 16);
        if (s.rank > 5) s.rank = s.rank % 3 + (s.rank > 12 ? 3 : 0);
        for (int i = 0; i < s.rank; i++)
            s.dims[i] = one_in(p, 8) ? 0 : 1 + (int64_t)below(p, 4);
    }
    p->last_shape = s;
    return s;
}

// ---- Tensors ----

static void fill(program *p, braid_tensor *t)
{
    const int64_t count = bd_tensor_count(t);
    for (int64_t i = 0; i < count; i++) {
        switch (t->dtype) {
        case BRAID_FLOAT: bd_tensor_f32(t)[i] = (float)choose_number(p); break;
        case BRAID_DOUBLE: bd_tensor_f64(t)[i] = choose_number(p); break;
        case BRAID_INT32:
        case BRAID_QINT32:
        case BRAID_UINT32: ((uint32_t *)t->data)[i] = (uint32_t)choose_int(p); break;
        case BRAID_INT64:
        case BRAID_UINT64: bd_tensor_i64(t)[i] = choose_int(p); break;
        case BRAID_BOOL: bd_tensor_bool(t)[i] = below(p, 2); break;
        case BRAID_STRING: {
            const bd_bytes b = choose_bytes(p);
            bd_tensor_string_set(t, i, b.data, b.len);
            break;
        }
        default: {
            const size_t size = braid_dtype_size(t->dtype);
            for (size_t k = 0; k < size; k++)
                ((uint8_t *)t->data)[(size_t)i * size + k] = (uint8_t)below(p, 256);
        }
        }
    }
}

static braid_tensor *new_tensor(program *p, braid_dtype type)
{
    braid_tensor *t = braid_tensor_new(type, choose_shape(p), NULL);
    BD_ASSERT(t);
    fill(p, t);
    return t;
}

// A constant, or a placeholder of which nothing is known until it is fed.
static braid_out make_value(program *p, braid_dtype type)
{
    braid_tensor *t = new_tensor(p, type);
    if (p->feed_count == FEEDS_MAX || one_in(p, 2)) {
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
        a.s = choose_bytes(p);
        if (def->allowed_string_count > 0) {
            const char *s = def->allowed_strings[below(p, (uint64_t)def->allowed_string_count)];
            a.s = (bd_bytes){s, strlen(s)};
        }
        break;
    case BD_ATTR_INT: a.i = choose_int(p); break;
    case BD_ATTR_FLOAT: a.f = (float)choose_number(p); break;
    case BD_ATTR_BOOL: a.b = below(p, 2); break;
    case BD_ATTR_TYPE: {
        const bd_dtype_set set =
            def->allowed_types ? def->allowed_types : USUAL_TYPES | BD_DTYPE_BIT(BRAID_VARIANT);
        a.type = choose_type(p, set & USUAL_TYPES && !one_in(p, 4) ? set & USUAL_TYPES : set);
        break;
    }
    case BD_ATTR_SHAPE:
        a.shape = choose_shape(p);
        if (one_in(p, 4)) a.shape = BRAID_SHAPE_UNKNOWN;
        if (a.shape.rank > 0 && one_in(p, 4)) a.shape.dims[0] = one_in(p, 2) ? -1 : llabs(hostile_int(p) / 2);
        break;
    case BD_ATTR_TENSOR:
        a.tensor = new_tensor(p, choose_type(p, USUAL_TYPES));
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
    a.list.count = (int)below(p, one_in(p, 2) ? 5 : 2);
    if (def->has_minimum && def->minimum < 8) a.list.count = (int)bd_max(a.list.count, def->minimum);
    const size_t n = (size_t)a.list.count + 1;
    a.list.s = bd_arena_alloc(&p->arena, n * sizeof(braid_shape)); // the largest kind
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
    if (ad->kind == BD_ATTR_TYPE && kernel && !one_in(p, 16)) {
        const bd_dtype_set all = ((bd_dtype_set)1 << (BRAID_UINT64 + 1)) - 2;
        const bd_dtype_set served =
            bd_kernel_types(kernel, ad->name) & (ad->allowed_types ? ad->allowed_types : all);
        if (served && served != all) a.type = choose_type(p, served);
    }
    if (is_number_of_inputs(def, i))
        a.i = (int64_t)bd_max(ad->has_minimum ? ad->minimum : 0, (int64_t)below(p, LIST_MAX + 1));
    return a;
}

// Chooses the attrs that are not left to their defaults; returns their number.
static int choose_attrs(program *p, const bd_op_def *def, node_types *types, bd_named_attr attrs[ATTRS_MAX])
{
    const bd_op *op = def->op;
    const bd_kernel *kernel =
        op->kernel_count > 0 ? &op->kernels[below(p, (uint64_t)op->kernel_count)] : NULL;
    int count = 0;
    BD_ASSERT(def->attr_count <= ATTRS_MAX);
    for (int i = 0; i < def->attr_count; i++) {
        const bd_attr_def *ad = &def->attrs[i];
        bd_attr a = choose_attr(p, def, i, kernel);
        const bool says_types = a.kind == BD_ATTR_TYPE || is_number_of_inputs(def, i);
        const bool is_default = ad->has_default && !one_in(p, says_types ? 2 : 4);
        types->attrs[i] = is_default ? ad->default_value : a;
        if (!is_default) attrs[count++] = (bd_named_attr){.name = ad->name, .value = a};
    }
    return count;
}

// ---- Nodes ----

static void add_node(program *p, const bd_op_entry *entry, int depth);

static bool has_constants(braid_dtype type)
{
    return type != BRAID_RESOURCE && type != BRAID_VARIANT && !bd_dtype_is_ref(type);
}

static braid_out take_out(program *p, braid_dtype type)
{
    int fitting = 0;
    for (size_t i = 0; i < p->outs.len; i++)
        fitting += braid_out_dtype(p->outs.items[i]) == type;
    if (fitting == 0) return (braid_out){NULL, 0};
    for (size_t i = 0, k = (size_t)below(p, (uint64_t)fitting);; i++) {
        if (braid_out_dtype(p->outs.items[i]) == type && k-- == 0) return p->outs.items[i];
    }
}

static braid_out make_variable(program *p, braid_dtype type)
{
    braid_tensor *t = new_tensor(p, type);
    braid_op_desc *d = braid_op_begin(p->graph, "VariableV2", NULL);
    braid_op_attr_type(d, "dtype", type);
    braid_op_attr_shape(d, "shape", t->shape);
    braid_out v = braid_op_end_out(d);
    if (v.op && !one_in(p, 8)) {
        braid_op *assign =
            braid_op_add(p->graph, "Assign", NULL, (const braid_out[]){v, braid_const(p->graph, NULL, t)}, 2);
        if (assign) v = (braid_out){assign, 0};
    }
    braid_tensor_free(t);
    return v;
}

static braid_out make_input(program *p, braid_dtype type, int depth)
{
    if (p->outs.len > 0 && (!has_constants(type) ? !one_in(p, 4) : one_in(p, 4))) {
        braid_out out = take_out(p, type);
        if (out.op) return out;
    }
    if (has_constants(type)) return make_value(p, type);
    if (bd_dtype_is_ref(type) && (has_constants(bd_dtype_base(type)) && bd_dtype_base(type) != BRAID_STRING))
        return make_variable(p, bd_dtype_base(type));
    const size_t kind = bd_dtype_is_ref(type) ? REF_SOURCES : (size_t)type;
    if (depth < SOURCES_DEEP && sources[kind].len > 0)
        add_node(p, sources[kind].items[below(p, sources[kind].len)], depth + 1);
    return take_out(p, type);
}

// Appends the inputs of one argument; false when there is none of a type.
static bool make_argument(program *p, const bd_arg_def *arg, const node_types *t, int depth,
                          input_list *inputs)
{
    const bd_attr *list = arg->type_list_attr_index >= 0 ? &t->attrs[arg->type_list_attr_index] : NULL;
    braid_dtype type = arg->type_attr_index >= 0 ? t->attrs[arg->type_attr_index].type : arg->type;
    int64_t count = arg->number_attr_index >= 0 ? t->attrs[arg->number_attr_index].i : 1;
    if (list) count = list->list.count;
    for (int64_t i = 0; i < bd_min(count, ARGUMENT_MAX); i++) {
        if (list) type = list->list.type[i];
        const braid_out input = make_input(p, arg->is_ref ? bd_dtype_ref(type) : type, depth);
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

// Runs a node; what it gives is there for others if it succeeds.
static void run_node(program *p, braid_op *n)
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
        bd_array_push(&p->outs, ((braid_out){n, i}));
        braid_tensor_free(got[i]);
    }
}

static void add_node(program *p, const bd_op_entry *entry, int depth)
{
    BD_STATUS(st);
    const bd_op_def *def = bd_op_lookup(entry->name);
    node_types types;
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
    if (has_inputs && !bd_graph_add(p->graph, &spec, &n, st)) {
        run_node(p, n);
    } else if (is_printing) {
        fprintf(stderr, "%s: %s\n", entry->name, st->code ? braid_status_message(st) : "no input");
    }
    bd_array_free(&inputs);
}

// ---- Programs ----

// What nodes that call functions call: as many arguments as fit.
static const char library_text[] =
    "library { function { signature { name: 'f' input_arg { name: 'x' type: DT_INT64 }"
    "  output_arg { name: 'y' type: DT_INT64 } } node_def { name: 'i' op: 'Identity' input: 'x'"
    "  attr { key: 'T' value { type: DT_INT64 } } } ret { key: 'y' value: 'i:output:0' } } }";
static void *library;
static size_t library_len;

static bool is_excluded(const char *op)
{
    return strcmp(op, "Abort") == 0; // ends the process: that is what it is for
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
    const uint64_t count = 1 + below(p, NODES_MAX);
    for (uint64_t i = 0; i < count; i++) {
        const bd_op_entry *entry = &bd_op_table[below(p, bd_op_table_len)];
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
    program p = {
        .data = data, .len = size, .rng = bd_rng_init(hash_of(data, size)), .graph = braid_graph_new()};
    bd_buffer_pool_set_limit(POOL_BYTES); // small nodes may ask for large tensors
    bd_memory_fs_install();
    braid_graph_import(p.graph, library, library_len, st);
    const braid_session_options options = {.inter_op_threads = 1,
                                           .intra_op_threads = 1,
                                           .operation_timeout_ms = RUN_MS,
                                           .disabled_rewrites = one_in(&p, 2) ? 0 : BRAID_REWRITE_ALL};
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
    bd_arena_fini(&p.arena);
    bd_memory_fs_uninstall();
    return 0;
}
