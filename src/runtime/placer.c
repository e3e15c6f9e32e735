// Placement by constraint groups, then by preference.
//
// Nodes that must share a device (attr `_class`, reference and resource edges) form a group (union-find). A
// group has the device of a member that was placed before, and the merged requests of its other members. The
// consumer of a reference or a handle goes to the device of its producer, whatever device it requests. Nodes
// are placed in graph order:
//   1. a node that was placed before, or whose group was, stays there;
//   2. a node that only reads the type and shape of its input goes to the input's device, if it may;
//   3. a node without inputs whose consumers are all on one device goes there, if it may (decided last);
//   4. other nodes take the first device that fits, by priority of its type, then by name.
#include "runtime/placer.h"

#include "base/check.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "graph/device_name.h"
#include "op/kernel.h"
#include "runtime/soft_device.h"
#include <stdlib.h>
#include <string.h>

// A device that can be chosen.
typedef struct candidate {
    bd_device_name name;
    const char *text; // full name, as nodes get it
    const char *type;
    int index; // of the device in the options
} candidate;

typedef struct group {
    int parent; // union-find, by node id; a root points to itself
    int rank;
    bool has_spec;       // of the root: `spec` is set
    bool has_source;     // of the root: `spec` is that of a member that makes a reference or a handle
    int example;         // of the root: a member with this spec
    bd_device_name spec; // of the root: the merged requests of the members
    const char *placed;  // of the root: where a member is already; NULL
    bool was_placed;     // this node, before
} group;

typedef struct placer {
    braid_graph *graph;
    int from;
    const bd_placer_options *options;
    candidate *candidates; // best first
    group *groups;         // by node id
    bd_map specs;          // device text -> bd_device_name, parsed once
    bd_map replaced;       // devices of soft placement that were logged
    bd_arena arena;        // owns the strings in the maps
    BD_ARRAY(int) last;    // nodes placed after all others
} placer;

// ---- Groups ----

static int find_root(placer *p, int i)
{
    while (p->groups[i].parent != i) {
        p->groups[i].parent = p->groups[p->groups[i].parent].parent;
        i = p->groups[i].parent;
    }
    return i;
}

static const char *name_of(const placer *p, int i)
{
    return p->graph->nodes.items[i]->name;
}

static braid_code fail_node(const braid_op *n, braid_status *st, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static braid_code fail_node(const braid_op *n, braid_status *st, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bd_vfail(st, BRAID_INVALID_ARGUMENT, format, args);
    va_end(args);
    bd_status_prefix(st, "Cannot assign a device for operation %s: ", n->name);
    return bd_status_suffix(st, strstr(st->message, "{{node ") ? " [[%s]]" : " [[{{node %s}}]]", n->name);
}

// The first field that both give and that differs.
static const char *first_conflict(const bd_device_name *x, const bd_device_name *y)
{
    if (x->has_job && y->has_job && strcmp(x->job, y->job) != 0) return "jobs";
    if (x->has_replica && y->has_replica && x->replica != y->replica) return "replicas";
    if (x->has_task && y->has_task && x->task != y->task) return "tasks";
    return x->has_type && y->has_type && strcmp(x->type, y->type) != 0 ? "types" : "ids";
}

static braid_code fail_merge(placer *p, int a, int b, const bd_device_name *x, const bd_device_name *y,
                             braid_status *st)
{
    char first[BD_DEVICE_NAME_MAX], second[BD_DEVICE_NAME_MAX];
    return fail_node(p->graph->nodes.items[b], st,
                     "Cannot colocate nodes {{colocation_node %s}} and {{colocation_node %s}}: "
                     "Cannot merge devices with incompatible %s: '%s' and '%s'",
                     name_of(p, a), name_of(p, b), first_conflict(x, y), bd_device_name_print(x, first),
                     bd_device_name_print(y, second));
}

// Joins the groups of nodes `a` and `b`.
static braid_code join(placer *p, int a, int b, braid_status *st)
{
    int x = find_root(p, a), y = find_root(p, b);
    if (x == y) return BRAID_OK;
    if (p->groups[x].rank < p->groups[y].rank) {
        int swap = x;
        x = y;
        y = swap;
    }
    group *to = &p->groups[x], *from = &p->groups[y];
    if (to->placed && from->placed && strcmp(to->placed, from->placed) != 0) {
        return fail_node(
            p->graph->nodes.items[b], st,
            "Cannot colocate nodes {{colocation_node %s}} and {{colocation_node %s}}: they are on "
            "'%s' and '%s' already",
            name_of(p, a), name_of(p, b), p->groups[find_root(p, a)].placed,
            p->groups[find_root(p, b)].placed);
    }
    if (from->has_spec) {
        if (!to->has_spec) {
            to->spec = from->spec;
            to->example = from->example;
        } else if (!bd_device_name_intersect(&to->spec, &from->spec, p->options->allow_soft_placement)) {
            return fail_merge(p, a, b, &to->spec, &from->spec, st);
        }
        to->has_spec = true;
        to->has_source = to->has_source || from->has_source;
    }
    if (from->placed) to->placed = from->placed;
    from->parent = x;
    to->rank += to->rank == from->rank;
    return BRAID_OK;
}

static braid_code parse_device(placer *p, const braid_op *n, const char *text, const bd_device_name **out,
                               braid_status *st)
{
    *out = bd_map_get(&p->specs, text);
    if (*out) return BRAID_OK;
    bd_device_name *spec = BD_ARENA_NEW(&p->arena, bd_device_name);
    if (bd_device_name_parse(text, spec, st))
        return bd_status_prefix(st, "Cannot assign a device for operation %s: ", n->name);
    bd_map_put(&p->specs, text, spec);
    *out = spec;
    return BRAID_OK;
}

// Of references and handles.
static bool is_shared(braid_dtype type)
{
    return bd_dtype_is_ref(type) || type == BRAID_RESOURCE;
}

static braid_code init_group(placer *p, const braid_op *n, braid_status *st)
{
    group *g = &p->groups[n->id];
    *g = (group){.parent = n->id,
                 .example = n->id,
                 .placed = n->assigned_device,
                 .was_placed = n->assigned_device != NULL};
    if (n->assigned_device || !n->device[0]) return BRAID_OK;
    const bd_device_name *spec;
    braid_code code = parse_device(p, n, n->device, &spec, st);
    if (code) return code;
    g->spec = *spec;
    g->has_spec = true;
    for (int i = 0; i < n->output_count && n->def && n->input_count == 0; i++)
        g->has_source = g->has_source || is_shared(n->output_types[i]);
    return BRAID_OK;
}

// "loc:@NODE": joins that node or, when it is missing, all nodes that name it.
static braid_code join_class(placer *p, bd_map *absent, const braid_op *n, const bd_bytes *class,
                             braid_status *st)
{
    static const char prefix[] = "loc:@";
    size_t prefix_len = sizeof prefix - 1;
    if (class->len <= prefix_len || memcmp(class->data, prefix, prefix_len) != 0) return BRAID_OK;
    const char *name = class->data + prefix_len;
    size_t len = class->len - prefix_len;
    const braid_op *with = bd_map_get_n(&p->graph->by_name, name, len);
    if (!with) with = bd_map_get_n(absent, name, len);
    if (with) return join(p, with->id, n->id, st);
    bd_map_put_n(absent, name, len, (void *)n);
    return BRAID_OK;
}

static braid_code join_classes(placer *p, bd_map *absent, const braid_op *n, braid_status *st)
{
    const bd_attr *a = bd_node_attr(n, "_class");
    if (!a || a->kind != BD_ATTR_LIST || a->item_kind != BD_ATTR_STRING) return BRAID_OK;
    braid_code code = BRAID_OK;
    for (int i = 0; !code && i < a->list.count; i++)
        code = join_class(p, absent, n, &a->list.s[i], st);
    return code;
}

// Node `n` takes a reference or a handle from `source`: the request of `n` is ignored if `source` is on
// another device.
static braid_code join_source(placer *p, const braid_op *source, const braid_op *n, braid_status *st)
{
    const group *from = &p->groups[find_root(p, source->id)];
    group *to = &p->groups[find_root(p, n->id)];
    if (from != to && to->has_spec && !to->has_source && (from->has_spec || from->placed)) {
        const bd_device_name *placed = &from->spec;
        braid_code code = from->placed ? parse_device(p, source, from->placed, &placed, st) : BRAID_OK;
        if (code) return code;
        bd_device_name both = *placed;
        if (!bd_device_name_intersect(&both, &to->spec, false)) to->has_spec = false;
    }
    return join(p, source->id, n->id, st);
}

static braid_code join_references(placer *p, const braid_op *n, braid_status *st)
{
    braid_code code = BRAID_OK;
    // The IdentityN of a lowered call may forward handles of several devices.
    if (!n->def || (n->input_count > 1 && bd_node_has_flag(n, BD_OP_SPREADS_HANDLES))) return BRAID_OK;
    for (int i = 0; !code && i < n->input_count; i++)
        if (is_shared(n->input_types[i])) code = join_source(p, n->inputs[i].op, n, st);
    return code;
}

static braid_code make_groups(placer *p, braid_status *st)
{
    braid_code code = BRAID_OK;
    bd_map absent = {0};
    size_t count = p->graph->nodes.len;
    for (size_t i = 0; !code && i < count; i++)
        code = init_group(p, p->graph->nodes.items[i], st);
    // Among nodes placed before all is settled.
    for (size_t i = (size_t)p->from; !code && i < count; i++)
        code = join_references(p, p->graph->nodes.items[i], st);
    for (size_t i = (size_t)p->from; !code && i < count; i++)
        code = join_classes(p, &absent, p->graph->nodes.items[i], st);
    bd_map_fini(&absent);
    return code;
}

// ---- Devices ----

// TensorFlow's priorities of device types.
static int type_priority(const char *type)
{
    if (strcmp(type, "GPU") == 0) return 210;
    if (strcmp(type, "CPU") == 0) return 70;
    return 50;
}

static int compare_candidates(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    int order = type_priority(y->type) - type_priority(x->type);
    return order ? order : strcmp(x->text, y->text);
}

static braid_code make_candidates(placer *p, braid_status *st)
{
    int count = p->options->device_count;
    if (count == 0) return bd_fail(st, BRAID_INVALID_ARGUMENT, "there are no devices to place operations on");
    p->candidates = BD_ARENA_ARRAY(&p->arena, candidate, (size_t)count);
    for (int i = 0; i < count; i++) {
        candidate *c = &p->candidates[i];
        // Nodes keep the name for the graph's life.
        c->text = bd_arena_strdup(&p->graph->arena, p->options->devices[i].name);
        c->type = p->options->devices[i].type;
        c->index = i;
        braid_code code = bd_device_name_parse(c->text, &c->name, st);
        if (code) return code;
    }
    qsort(p->candidates, (size_t)count, sizeof *p->candidates, compare_candidates);
    return BRAID_OK;
}

// Returns whether an op runs on devices of a type. An op without kernels may be placed anywhere; it is an
// error only when a run reaches it.
static bool supports(const braid_op *n, const char *type)
{
    if (!n->def || n->def->op->kernel_count == 0) return true;
    for (int i = 0; i < n->def->op->kernel_count; i++) {
        const char *served = n->def->op->kernels[i].device_type;
        if (strcmp(served ? served : "CPU", type) == 0) return true;
    }
    return false;
}

static bool fits(const bd_device_name *spec, const candidate *c, const braid_op *n)
{
    return (!spec || bd_device_name_matches(spec, &c->name)) && supports(n, c->type);
}

static const candidate *first_fit(const placer *p, const bd_device_name *spec, const braid_op *n)
{
    for (int i = 0; i < p->options->device_count; i++) {
        if (fits(spec, &p->candidates[i], n)) return &p->candidates[i];
    }
    return NULL;
}

static braid_code fail_no_device(const placer *p, const braid_op *n, const bd_device_name *spec,
                                 braid_status *st)
{
    enum {
        SHOWN_MAX = 100
    };
    char asked[BD_DEVICE_NAME_MAX];
    bd_strbuf names = {0};
    bd_device_name own;
    const bool is_own = !bd_device_name_parse(n->device, &own, st) && bd_device_name_equal(&own, spec);
    for (int i = 0; i < p->options->device_count && i < SHOWN_MAX; i++)
        bd_strbuf_appendf(&names, "%s%s", i ? ", " : "", p->candidates[i].text);
    if (p->options->device_count > SHOWN_MAX)
        bd_strbuf_appendf(&names, " and %d more", p->options->device_count - SHOWN_MAX);
    bd_device_name_print(spec, asked);
    const braid_code code =
        is_own ? fail_node(
                     n, st,
                     "{{node %s}} was explicitly assigned to %s but available devices are [ %s ]. Make sure "
                     "the device specification refers to a valid device.",
                     n->name, n->device, bd_strbuf_str(&names))
               : fail_node(
                     n, st,
                     "Could not satisfy explicit device specification '%s' because the node "
                     "{{colocation_node %s}} was colocated with a group of nodes that required incompatible "
                     "device '%s'. All available devices [%s].",
                     n->device, n->name, asked, bd_strbuf_str(&names));
    bd_strbuf_fini(&names);
    return code;
}

// Whether a node that was placed by an earlier call asks for the same device.
static bool is_known(placer *p, const bd_device_name *asked)
{
    for (int i = 0; i < p->from; i++) {
        bd_device_name own;
        const char *device = p->graph->nodes.items[i]->device;
        if (device[0] && !bd_device_name_parse(device, &own, NULL) && bd_device_name_equal(&own, asked))
            return true;
    }
    return false;
}

static void log_replaced(placer *p, const bd_device_name *asked, const char *taken)
{
    char text[BD_DEVICE_NAME_MAX];
    if (!p->options->log_soft_placement || bd_map_get(&p->replaced, bd_device_name_print(asked, text)))
        return;
    bd_map_put(&p->replaced, text, p);
    if (!is_known(p, asked))
        bd_info("There is no device %s: its operations are placed on %s (soft placement)", text, taken);
}

// Soft placement: a missing device is replaced by one of the same task. `spec` then asks for that one, if it
// had a number. False when there is none.
static bool soften(placer *p, const braid_op *n, bd_device_name *spec)
{
    const bd_device_name asked = *spec;
    spec->has_type = spec->has_id = false;
    const candidate *c = first_fit(p, spec, n);
    if (!c) return false;
    if (asked.has_id) {
        const int taken = bd_soft_device(p->options->devices, p->options->device_count, c->index, asked.id);
        for (c = p->candidates; c->index != taken;)
            c++;
        spec->has_type = spec->has_id = true;
        memcpy(spec->type, c->name.type, sizeof spec->type);
        spec->id = c->name.id;
    }
    log_replaced(p, &asked, c->text);
    return true;
}

// Settles the request of the group of `n`.
static braid_code settle_spec(placer *p, const braid_op *n, const bd_device_name **spec, braid_status *st)
{
    group *g = &p->groups[find_root(p, n->id)];
    *spec = g->has_spec ? &g->spec : NULL;
    if (first_fit(p, *spec, n)) return BRAID_OK;
    bd_device_name asked = g->has_spec ? g->spec : (bd_device_name){0};
    if (p->options->allow_soft_placement && g->has_spec && soften(p, n, &g->spec)) return BRAID_OK;
    return fail_no_device(p, n, &asked, st);
}

// ---- Choosing ----

static const candidate *find_candidate(const placer *p, const char *text)
{
    for (int i = 0; text && i < p->options->device_count; i++) {
        if (strcmp(p->candidates[i].text, text) == 0) return &p->candidates[i];
    }
    return NULL;
}

static bool is_generator(const braid_op *n)
{
    return n->input_count == 0 && n->output_count == 1 && !bd_dtype_is_ref(n->output_types[0]);
}

// A member of the group is placed: so are all.
static braid_code follow_group(placer *p, braid_op *n, const char *device, braid_status *st)
{
    group *g = &p->groups[find_root(p, n->id)];
    bd_device_name name;
    if (bd_device_name_parse(device, &name, st)) return st->code;
    bool conflicts = g->has_spec && !bd_device_name_matches(&g->spec, &name);
    if (conflicts && p->options->allow_soft_placement) {
        bd_device_name softer = g->spec;
        softer.has_type = softer.has_id = false;
        conflicts = !bd_device_name_matches(&softer, &name);
    }
    if (conflicts) {
        char asked[BD_DEVICE_NAME_MAX];
        return fail_node(
            n, st,
            "Could not satisfy explicit device specification '%s' of {{colocation_node %s}} because the "
            "node {{colocation_node %s}} was colocated with a group of nodes that required incompatible "
            "device '%s'",
            bd_device_name_print(&g->spec, asked), name_of(p, g->example), n->name, device);
    }
    n->assigned_device = device;
    return BRAID_OK;
}

static void put(placer *p, braid_op *n, const char *device)
{
    n->assigned_device = device;
    p->groups[find_root(p, n->id)].placed = device;
}

// `preferred` is taken when the node may go there, else the first device.
static braid_code choose(placer *p, braid_op *n, const char *preferred, braid_status *st)
{
    const bd_device_name *spec;
    braid_code code = settle_spec(p, n, &spec, st);
    if (code) return code;
    const candidate *c = find_candidate(p, preferred);
    if (!c || !fits(spec, c, n)) c = first_fit(p, spec, n);
    put(p, n, c->text);
    return BRAID_OK;
}

static braid_code place_node(placer *p, braid_op *n, braid_status *st)
{
    if (n->assigned_device) return BRAID_OK;
    const char *placed = p->groups[find_root(p, n->id)].placed;
    if (placed) return follow_group(p, n, placed, st);
    bool looks_at_input = bd_node_role(n) == BD_ROLE_METADATA && n->input_count > 0;
    return choose(p, n, looks_at_input ? n->inputs[0].op->assigned_device : NULL, st);
}

// The device of all consumers; NULL when they differ or there are none.
static const char *common_device(const bd_consumers *consumers, const braid_op *n)
{
    const char *device = NULL;
    for (int i = consumers->offsets[n->id]; i < consumers->offsets[n->id + 1]; i++) {
        const char *at = consumers->items[i].node->assigned_device;
        if (!at || (device && strcmp(device, at) != 0)) return NULL;
        device = at;
    }
    return device;
}

static braid_code place_generators(placer *p, braid_status *st)
{
    if (p->last.len == 0) return BRAID_OK;
    bd_consumers consumers = {0};
    bd_graph_consumers(p->graph, &consumers);
    braid_code code = BRAID_OK;
    for (size_t i = 0; !code && i < p->last.len; i++) {
        braid_op *n = p->graph->nodes.items[p->last.items[i]];
        const char *placed = p->groups[find_root(p, n->id)].placed;
        code = placed ? follow_group(p, n, placed, st) : choose(p, n, common_device(&consumers, n), st);
    }
    bd_consumers_fini(&consumers);
    return code;
}

static braid_code place_all(placer *p, braid_status *st)
{
    braid_code code = make_candidates(p, st);
    if (!code) code = make_groups(p, st);
    for (size_t i = (size_t)p->from; !code && i < p->graph->nodes.len; i++) {
        braid_op *n = p->graph->nodes.items[i];
        if (!n->assigned_device && is_generator(n))
            bd_array_push(&p->last, n->id);
        else
            code = place_node(p, n, st);
    }
    return code ? code : place_generators(p, st);
}

static void log_placement(const braid_graph *g, int from)
{
    for (size_t i = (size_t)from; i < g->nodes.len; i++) {
        const braid_op *n = g->nodes.items[i];
        bd_info("%s: (%s): %s", n->name, n->op_type, n->assigned_device);
    }
}

braid_code bd_place(braid_graph *g, int from, const bd_placer_options *options, braid_status *st)
{
    placer p = {.graph = g, .from = from, .options = options};
    p.groups = bd_calloc(g->nodes.len + 1, sizeof *p.groups);
    braid_code code = place_all(&p, st);
    if (!code && options->log_device_placement) log_placement(g, from);
    for (size_t i = (size_t)from; code && i < g->nodes.len; i++) {
        if (!p.groups[i].was_placed) g->nodes.items[i]->assigned_device = NULL;
    }
    bd_free(p.groups);
    bd_map_fini(&p.specs);
    bd_map_fini(&p.replaced);
    bd_array_free(&p.last);
    bd_arena_fini(&p.arena);
    return code;
}

static bool is_where_it_asks(const braid_op *n)
{
    bd_device_name asked, is;
    BD_STATUS(st);
    if (!n->device[0] || !n->assigned_device) return true;
    if (bd_device_name_parse(n->device, &asked, st) || bd_device_name_parse(n->assigned_device, &is, st))
        return false;
    return bd_device_name_matches(&asked, &is);
}

braid_code bd_place_check(braid_graph *g, const bd_placer_options *options, braid_status *st)
{
    bd_placer_options strict = *options;
    strict.allow_soft_placement = strict.log_soft_placement = strict.log_device_placement = false;
    bool is_right = true;
    for (size_t i = 0; i < g->nodes.len; i++) {
        if (is_where_it_asks(g->nodes.items[i])) continue;
        g->nodes.items[i]->assigned_device = NULL;
        is_right = false;
    }
    return is_right ? BRAID_OK : bd_place(g, 0, &strict, st);
}
