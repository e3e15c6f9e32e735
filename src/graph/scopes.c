// Scopes of building: names, devices, control dependencies, colocation.
#include "graph/builder.h"

#include "base/check.h"
#include "base/log.h"
#include <ctype.h>
#include <string.h>

bd_builder *bd_graph_builder(braid_graph *g)
{
    if (!g->builder) g->builder = bd_calloc(1, sizeof *g->builder);
    return g->builder;
}

bool bd_builder_is_first(braid_graph *g, const char *key)
{
    bd_map *firsts = &bd_graph_builder(g)->firsts;
    if (bd_map_has(firsts, key)) return false;
    bd_map_put(firsts, key, NULL);
    return true;
}

void bd_builder_free(bd_builder *b)
{
    if (!b) return;
    bd_op_descs_free(b);
    while (b->owned.len) {
        bd_owned last = b->owned.items[--b->owned.len];
        last.release(last.what);
    }
    bd_array_free(&b->owned);
    size_t pos = 0;
    void *value;
    while (bd_map_next(&b->collections, &pos, NULL, &value)) {
        bd_array_free(&((bd_collection *)value)->items);
        bd_array_free(&((bd_collection *)value)->objects);
        bd_free(value);
    }
    for (size_t i = 0; i < b->controls.len; i++)
        bd_array_free(&b->controls.items[i].gaps);
    bd_edge_index_free(&b->edge_index);
    bd_map_fini(&b->collections);
    bd_map_fini(&b->names);
    bd_map_fini(&b->firsts);
    bd_array_free(&b->name_scopes);
    bd_array_free(&b->devices);
    bd_array_free(&b->controls);
    bd_array_free(&b->colocations);
    bd_free(b);
}

// Returns whether a scope can be popped; the graph fails when none was pushed.
static bool may_pop(braid_graph *g, size_t pushed, const char *what)
{
    if (!g) return false;
    if (!pushed) braid_graph_fail(g, BRAID_FAILED_PRECONDITION, "A %s is popped that was not pushed", what);
    return pushed > 0;
}

// ---- Names ----

static const char *current_scope(const bd_builder *b)
{
    return b->name_scopes.len ? b->name_scopes.items[b->name_scopes.len - 1] : "";
}

// Names that differ only in case are the same name: their number is kept under the name in lower case.
static char *key_of(braid_graph *g, const char *name)
{
    char *key = bd_arena_strdup(&g->arena, name);
    for (char *p = key; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return key;
}

static bool is_used(braid_graph *g, const char *name)
{
    return bd_map_has(&g->builder->names, key_of(g, name)) || bd_map_has(&g->by_name, name);
}

// The first free one of `base`, base_1, ..., from `number` on, which is that of the next one then.
static const char *first_free(braid_graph *g, const char *base, uintptr_t *number)
{
    const char *unique = base;
    for (; is_used(g, unique); (*number)++)
        unique = bd_arena_asprintf(&g->arena, "%s_%zu", base, (size_t)*number);
    return unique;
}

const char *bd_builder_unique_name(braid_graph *g, const char *name)
{
    bd_builder *b = bd_graph_builder(g);
    const char *base = bd_arena_asprintf(&g->arena, "%s%s", current_scope(b), name);
    const char *key = key_of(g, base);
    uintptr_t number = (uintptr_t)bd_map_get(&b->names, key);
    if (number == 0 && bd_map_has(&g->by_name, base)) number = 1;
    bd_map_put(&b->names, key, (void *)(number + 1));
    if (number == 0) return base;
    const char *unique = first_free(g, base, &number);
    // The next search for this base starts after the number found: smaller numbers stay used.
    bd_map_put(&b->names, key, (void *)number);
    bd_map_put(&b->names, key_of(g, unique), (void *)1);
    return unique;
}

const char *braid_graph_unique_name(braid_graph *g, const char *name, bool marks_used)
{
    if (!g || !name) return "";
    if (marks_used) return bd_builder_unique_name(g, name);
    const bd_builder *b = bd_graph_builder(g);
    const char *base = bd_arena_asprintf(&g->arena, "%s%s", current_scope(b), name);
    uintptr_t number = bd_max((uintptr_t)bd_map_get(&b->names, key_of(g, base)), 1);
    return first_free(g, base, &number);
}

// Scopes at the root must begin like names; within a scope '_', '-' and '/' may come first too.
static bool scope_is_valid(const char *scope, bool at_root)
{
    if (at_root && !isalnum((unsigned char)*scope) && *scope != '.') return false;
    for (const char *p = scope; *p; p++) {
        if (!isalnum((unsigned char)*p) && !strchr("_./-\\", *p)) return false;
    }
    return true;
}

const char *braid_push_name_scope(braid_graph *g, const char *scope)
{
    if (!g) return "";
    bd_builder *b = bd_graph_builder(g);
    const char *entered = "";
    size_t len = scope ? strlen(scope) : 0;
    if (len == 0 || g->status.code) {
        entered = "";
    } else if (!scope_is_valid(scope, !*current_scope(b))) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "'%s' is not a valid scope name", scope);
    } else if (scope[len - 1] == '/') {
        entered = bd_arena_strdup(&g->arena, scope);
    } else {
        entered = bd_arena_asprintf(&g->arena, "%s/", bd_builder_unique_name(g, scope));
    }
    bd_array_push(&b->name_scopes, entered);
    return entered;
}

void braid_pop_name_scope(braid_graph *g)
{
    if (may_pop(g, g ? bd_graph_builder(g)->name_scopes.len : 0, "name scope")) g->builder->name_scopes.len--;
}

// ---- Devices ----

void braid_push_device(braid_graph *g, const char *device)
{
    if (!g) return;
    BD_STATUS(st);
    bd_device_scope scope = {.clears = !device};
    if (bd_device_name_parse(device, &scope.device, st)) bd_graph_fail_status(g, st);
    bd_array_push(&bd_graph_builder(g)->devices, scope);
}

void braid_push_device_fn(braid_graph *g, braid_device_fn fn, void *arg)
{
    if (!g) return;
    bd_array_push(&bd_graph_builder(g)->devices, (bd_device_scope){.clears = !fn, .fn = fn, .arg = arg});
}

void braid_pop_device(braid_graph *g)
{
    if (may_pop(g, g ? bd_graph_builder(g)->devices.len : 0, "device")) g->builder->devices.len--;
}

// The type and the shape of the variable behind a handle.
static void describe_variable(const braid_op *n, braid_dtype *dtype, braid_shape *shape)
{
    const bd_attr *of_type = bd_node_attr(n, "dtype"), *of_shape = bd_node_attr(n, "shape");
    if (*dtype != BRAID_RESOURCE || !of_type || of_type->kind != BD_ATTR_TYPE || !of_shape ||
        of_shape->kind != BD_ATTR_SHAPE)
        return;
    *dtype = of_type->type;
    *shape = of_shape->shape;
}

// Applies scope `s` to the request so far.
static braid_code apply_device_scope(const bd_device_scope *s, const braid_op *n, bd_device_name *device,
                                     braid_status *st)
{
    bd_device_name outer = s->device;
    if (s->fn) {
        char so_far[BD_DEVICE_NAME_MAX];
        braid_out first = {.op = (braid_op *)n, .index = 0};
        braid_dtype dtype = braid_out_dtype(first);
        braid_shape shape = braid_out_shape(first);
        describe_variable(n, &dtype, &shape);
        const char *text = s->fn(s->arg, n->op_type, bd_device_name_print(device, so_far), dtype, shape);
        braid_code code = bd_device_name_parse(text, &outer, st);
        if (code) return code;
    }
    bd_device_name_merge(&outer, device);
    *device = outer;
    return BRAID_OK;
}

// A node takes the device of the op that it is colocated with, unless a scope within the colocation sets
// another one.
static const char *colocated_device(const braid_op *n, const char *device, const bd_op_list *colocated)
{
    for (size_t i = 0; i < colocated->len; i++) {
        const char *other = colocated->items[i]->device;
        if (*other && *device && strcmp(other, device) != 0)
            bd_warn("Node '%s' is placed with '%s', but asks for device %s and not for %s", n->name,
                    colocated->items[i]->name, device, other);
        else if (*other)
            device = other;
    }
    return device;
}

const char *bd_builder_device(braid_graph *g, const braid_op *n, const char *asked,
                              const bd_op_list *colocated, bool is_bound)
{
    BD_STATUS(st);
    const bd_builder *b = bd_graph_builder(g);
    bd_device_name device;
    char text[BD_DEVICE_NAME_MAX];
    size_t base = b->colocations.len ? b->colocations.items[b->colocations.len - 1].device_base : 0;
    if (is_bound) base = b->devices.len;
    braid_code code = bd_device_name_parse(asked, &device, st);
    for (size_t i = b->devices.len; i > base && !code && !b->devices.items[i - 1].clears; i--)
        code = apply_device_scope(&b->devices.items[i - 1], n, &device, st);
    if (code) {
        bd_status_prefix(st, "Node '%s' (op: '%s'): ", n->name, n->op_type);
        bd_graph_fail_status(g, st);
        return "";
    }
    const char *result = colocated_device(n, bd_device_name_print(&device, text), colocated);
    return *result ? bd_arena_strdup(&g->arena, result) : "";
}

// ---- Control dependencies ----

static bool already_controls(const bd_builder *b, const braid_op *op)
{
    for (size_t i = b->controls.len; i-- > 0;) {
        const bd_control_scope *s = &b->controls.items[i];
        for (int k = 0; k < s->count; k++) {
            if (s->ops[k] == op) return true;
        }
        if (s->clears) return false;
    }
    return false;
}

void braid_push_control(braid_graph *g, braid_op *const *ops, int count)
{
    if (!g) return;
    bd_builder *b = bd_graph_builder(g);
    bd_control_scope scope = {.clears = !ops, .first_id = (int)g->nodes.len};
    if (count > 0) scope.ops = BD_ARENA_ARRAY(&g->arena, braid_op *, (size_t)count);
    for (int i = 0; ops && i < count; i++) {
        if (!ops[i] || ops[i]->graph != g)
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A control dependency is %s",
                             ops[i] ? "of another graph" : "nothing");
        else if (!already_controls(b, ops[i]))
            scope.ops[scope.count++] = ops[i];
    }
    bd_array_push(&b->controls, scope);
}

static void add_gap(bd_builder *b, size_t scopes, int from, int to)
{
    for (size_t i = 0; i < scopes && from < to; i++)
        bd_array_push(&b->controls.items[i].gaps, (bd_id_range){.from = from, .to = to});
}

void braid_pop_control(braid_graph *g)
{
    if (!may_pop(g, g ? bd_graph_builder(g)->controls.len : 0, "control scope")) return;
    bd_builder *b = g->builder;
    bd_control_scope *scope = &b->controls.items[b->controls.len - 1];
    if (scope->clears) add_gap(b, b->controls.len - 1, scope->first_id, (int)g->nodes.len);
    bd_array_free(&scope->gaps);
    b->controls.len--;
}

void bd_builder_note_foreign(braid_graph *g, int from, int to)
{
    if (g->builder) add_gap(g->builder, g->builder->controls.len, from, to);
}

static bool made_within(const bd_control_scope *s, const braid_op *op)
{
    if (op->id < s->first_id) return false;
    for (size_t i = 0; i < s->gaps.len; i++) {
        if (op->id >= s->gaps.items[i].from && op->id < s->gaps.items[i].to) return false;
    }
    return true;
}

static bool is_input(const braid_op *op, const braid_out *inputs, int count)
{
    for (int i = 0; i < count; i++) {
        if (inputs[i].op == op) return true;
    }
    return false;
}

void bd_builder_controls(const braid_graph *g, const braid_out *inputs, int input_count, bd_op_list *controls)
{
    const bd_builder *b = g->builder;
    size_t first = b->controls.len;
    while (first > 0 && !b->controls.items[first - 1].clears)
        first--;
    for (size_t i = first; i < b->controls.len; i++) {
        const bd_control_scope *s = &b->controls.items[i];
        bool dominated = false;
        for (int k = 0; k < input_count && !dominated; k++)
            dominated = made_within(s, inputs[k].op);
        for (int k = 0; k < s->count && !dominated; k++) {
            if (!is_input(s->ops[k], inputs, input_count)) bd_array_push(controls, s->ops[k]);
        }
    }
}

// ---- Colocation ----

void braid_push_colocate(braid_graph *g, braid_op *op)
{
    if (!g) return;
    bd_builder *b = bd_graph_builder(g);
    if (!op || op->graph != g)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Colocation with %s", op ? "another graph" : "nothing");
    bd_array_push(&b->colocations, (bd_colocate_scope){.op = op, .device_base = b->devices.len});
}

void bd_builder_push_colocate_only(braid_graph *g, braid_op *op)
{
    braid_push_colocate(g, op);
    g->builder->colocations.items[g->builder->colocations.len - 1].clears = true;
}

void braid_push_colocate_name(braid_graph *g, const char *name)
{
    if (!g) return;
    bd_builder *b = bd_graph_builder(g);
    bd_array_push(&b->colocations, (bd_colocate_scope){.name = bd_arena_strdup(&g->arena, name ? name : ""),
                                                       .device_base = b->devices.len});
}

void braid_pop_colocate(braid_graph *g)
{
    if (may_pop(g, g ? bd_graph_builder(g)->colocations.len : 0, "colocation")) g->builder->colocations.len--;
}
