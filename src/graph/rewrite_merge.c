// Common subexpressions: of several pure nodes that compute the same, one stays.
//
// Nodes are looked at inputs first, so equal inputs are the same node by then, and a whole tree is merged
// from its leaves.
#include "graph/rewrite_internal.h"

#include "base/check.h"
#include <string.h>

// Nodes of the same hash that a node is compared with: more are not worth the time.
#define TWINS_MAX 32

typedef struct merger {
    bd_rewriter *r;
    bd_imap first;   // hash -> the first node with it
    braid_op **next; // by node id: the previous node with the same hash
} merger;

// Nodes are equal even if their placement and inferred shapes differ.
static bool is_comment(const char *attr)
{
    return strcmp(attr, "_class") == 0 || strcmp(attr, "_output_shapes") == 0;
}

// ---- Hashing ----

static uint64_t mix(uint64_t hash, uint64_t value)
{
    const uint64_t both[2] = {hash, value};
    return bd_hash_bytes(both, sizeof both);
}

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t len)
{
    enum {
        LOOKED_AT = 256 // bytes: enough to distinguish the constants of a program
    };
    return len ? mix(hash, bd_hash_bytes(bytes, len < LOOKED_AT ? len : LOOKED_AT)) : hash;
}

static uint64_t mix_tensor(uint64_t hash, const braid_tensor *t)
{
    hash = mix(hash, (uint64_t)t->dtype);
    for (int i = 0; i < t->shape.rank; i++)
        hash = mix(hash, (uint64_t)t->shape.dims[i]);
    if (t->dtype == BRAID_STRING)
        return bd_tensor_count(t) ? mix_bytes(hash, bd_tensor_str(t)[0].data, bd_tensor_str(t)[0].len) : hash;
    return braid_dtype_size(t->dtype) ? mix_bytes(hash, t->data, bd_tensor_bytes(t)) : hash;
}

static uint64_t mix_attr(uint64_t hash, const bd_named_attr *attr)
{
    const bd_attr *a = &attr->value;
    hash = mix(hash, bd_hash_bytes(attr->name, strlen(attr->name)));
    switch (a->kind) {
    case BD_ATTR_INT: return mix(hash, (uint64_t)a->i);
    case BD_ATTR_BOOL: return mix(hash, a->b);
    case BD_ATTR_TYPE: return mix(hash, (uint64_t)a->type);
    case BD_ATTR_STRING: return mix(hash, bd_hash_bytes(a->s.data, a->s.len));
    case BD_ATTR_TENSOR: return mix_tensor(hash, a->tensor);
    default: return hash; // compared when all else is equal
    }
}

static bool is_commutative(const braid_op *n)
{
    return bd_node_has_flag(n, BD_OP_COMMUTATIVE) && n->input_count == 2;
}

// The inputs of a commutative op and control inputs are hashed in any order, by addition.
static uint64_t hash_of(const braid_op *n)
{
    uint64_t hash = mix(bd_hash_bytes(n->op_type, strlen(n->op_type)), (uint64_t)n->input_count), sum = 0;
    for (int i = 0; i < n->input_count; i++) {
        uint64_t input = mix((uint64_t)n->inputs[i].op->id, (uint64_t)n->inputs[i].index);
        if (is_commutative(n))
            sum += input;
        else
            hash = mix(hash, input);
    }
    for (int i = 0; i < n->control_count; i++)
        sum += mix((uint64_t)n->controls[i]->id, UINT64_MAX);
    hash = mix(hash, sum);
    for (int i = 0; i < n->attr_count; i++) {
        if (!is_comment(n->attrs[i].name)) hash = mix_attr(hash, &n->attrs[i]);
    }
    return hash;
}

// ---- Comparing ----

static bool is_same_output(braid_out a, braid_out b)
{
    return a.op == b.op && a.index == b.index;
}

static bool has_same_inputs(const braid_op *a, const braid_op *b)
{
    if (a->input_count != b->input_count) return false;
    if (is_commutative(a) && is_same_output(a->inputs[0], b->inputs[1]) &&
        is_same_output(a->inputs[1], b->inputs[0]))
        return true;
    for (int i = 0; i < a->input_count; i++) {
        if (!is_same_output(a->inputs[i], b->inputs[i])) return false;
    }
    return true;
}

static bool runs_after(const braid_op *n, const braid_op *control)
{
    for (int i = 0; i < n->control_count; i++) {
        if (n->controls[i] == control) return true;
    }
    return false;
}

// Each control input occurs once, so with equal counts one direction suffices.
static bool has_same_controls(const braid_op *a, const braid_op *b)
{
    if (a->control_count != b->control_count) return false;
    for (int i = 0; i < a->control_count; i++) {
        if (!runs_after(b, a->controls[i])) return false;
    }
    return true;
}

static int next_attr(const braid_op *n, int i)
{
    while (i < n->attr_count && is_comment(n->attrs[i].name))
        i++;
    return i;
}

static bool has_same_attrs(const braid_op *a, const braid_op *b) // both are sorted by name
{
    int i = next_attr(a, 0), k = next_attr(b, 0);
    while (i < a->attr_count && k < b->attr_count) {
        const bd_named_attr *x = &a->attrs[i], *y = &b->attrs[k];
        if (strcmp(x->name, y->name) != 0 || !bd_attr_equal(&x->value, &y->value)) return false;
        i = next_attr(a, i + 1);
        k = next_attr(b, k + 1);
    }
    return i == a->attr_count && k == b->attr_count;
}

static bool is_on_same_device(const braid_op *a, const braid_op *b)
{
    const char *x = a->assigned_device ? a->assigned_device : a->device;
    const char *y = b->assigned_device ? b->assigned_device : b->device;
    return strcmp(x, y) == 0;
}

static bool computes_the_same(const braid_op *a, const braid_op *b)
{
    return a->def == b->def && has_same_inputs(a, b) && has_same_controls(a, b) && is_on_same_device(a, b) &&
           has_same_attrs(a, b);
}

// ---- Merging ----

static braid_op *find_twin(merger *m, braid_op *n)
{
    uint64_t hash = hash_of(n);
    braid_op *first = bd_imap_get(&m->first, hash);
    int left = TWINS_MAX;
    for (braid_op *other = first; other && left-- > 0; other = m->next[other->id]) {
        if (computes_the_same(other, n)) return other;
    }
    m->next[n->id] = first;
    bd_imap_put(&m->first, hash, n);
    return NULL;
}

static void merge_into(merger *m, braid_op *n, braid_op *twin)
{
    for (int i = 0; i < n->output_count; i++)
        bd_rewriter_move_output(m->r, (braid_out){n, i}, (braid_out){twin, i});
    bd_rewriter_move_controls(m->r, n, twin);
    if (m->r->info.items[n->id].is_root) m->r->info.items[twin->id].is_root = true;
    bd_rewriter_remove(m->r, n);
}

braid_code bd_rewrite_merge(bd_rewriter *r, braid_status *st)
{
    (void)st;
    merger m = {.r = r, .next = bd_calloc(r->info.len + 1, sizeof *m.next)};
    for (size_t i = 0; i < r->order.len; i++) {
        braid_op *n = r->order.items[i];
        if (!bd_rewriter_is_pure(n)) continue;
        braid_op *twin = find_twin(&m, n);
        if (twin) merge_into(&m, n, twin);
    }
    bd_imap_fini(&m.first);
    bd_free(m.next);
    return BRAID_OK;
}
