// HyperplaneLSHProbes: the buckets in which points are looked up, in tables that hash by the signs of their
// products with hyperplanes: first that of the point in each table, then those of which it is the least far
// (multi-probe LSH: Lv et al., VLDB 2007).
//
// A bucket's distance is the sum of the squares of the products whose signs differ. Candidates come from a
// heap: each is the bucket of a set of signs that are flipped, among those of one table in ascending order of
// their products. From a set whose last one is i follow the set with i + 1 in its place, and the set with
// i + 1 beside it.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define TABLES_MAX 1000
#define PLANES_MAX 30

typedef struct candidate {
    double score;
    int32_t table, flipped; // bits of the signs
    int last;               // the last flipped one, by order
} candidate;

typedef struct search {
    const braid_tensor *products, *probes, *table_ids;
    int tables, planes;
    int64_t count; // of probes
    atomic_bool is_short_of_memory;
} search;

// For the probes of one point.
typedef struct probing {
    const search *s;
    int64_t point;
    uint8_t order[TABLES_MAX][PLANES_MAX]; // the planes of a table, the nearest first
    int32_t main[TABLES_MAX];
    int64_t size;     // of the heap
    candidate heap[]; // the nearest first
} probing;

static double product_of(const probing *p, int table, int plane)
{
    const search *s = p->s;
    const int64_t at = (p->point * s->tables + table) * s->planes + plane;
    return s->products->dtype == BRAID_FLOAT ? (double)bd_tensor_f32(s->products)[at]
                                             : bd_tensor_f64(s->products)[at];
}

// The result of one operation in the precision of the products.
static double rounded(const probing *p, double x)
{
    return p->s->products->dtype == BRAID_FLOAT ? (double)(float)x : x;
}

static double squared(const probing *p, int table, int plane)
{
    const double x = product_of(p, table, plane);
    return rounded(p, x * x);
}

static int32_t bit_of(const probing *p, int plane)
{
    return (int32_t)1 << (p->s->planes - 1 - plane);
}

// ---- The heap ----

static void sift_down(probing *p, int64_t at)
{
    const candidate moved = p->heap[at];
    for (int64_t child; (child = 2 * at + 1) < p->size; at = child) {
        if (child + 1 < p->size && p->heap[child].score > p->heap[child + 1].score) child++;
        if (moved.score <= p->heap[child].score) break;
        p->heap[at] = p->heap[child];
    }
    p->heap[at] = moved;
}

static void push(probing *p, candidate c)
{
    int64_t at = p->size++;
    for (int64_t parent; at > 0 && p->heap[parent = (at - 1) / 2].score > c.score; at = parent)
        p->heap[at] = p->heap[parent];
    p->heap[at] = c;
}

static candidate pop(probing *p)
{
    const candidate first = p->heap[0];
    p->heap[0] = p->heap[--p->size];
    if (p->size > 0) sift_down(p, 0);
    return first;
}

// ---- Probes ----

static int32_t hash_of(const probing *p, int table)
{
    int32_t hash = 0;
    for (int i = 0; i < p->s->planes; i++)
        if (product_of(p, table, i) >= 0) hash |= bit_of(p, i);
    return hash;
}

// Sorts the planes of a table by how near the point is to them, and makes the candidate that flips the first.
static void begin_table(probing *p, int table)
{
    uint8_t *order = p->order[table];
    for (int i = 0; i < p->s->planes; i++) {
        int at = i;
        const double x = fabs(product_of(p, table, i));
        for (; at > 0 && x < fabs(product_of(p, table, order[at - 1])); at--)
            order[at] = order[at - 1];
        order[at] = (uint8_t)i;
    }
    p->heap[p->size++] =
        (candidate){.score = squared(p, table, order[0]), .table = table, .flipped = bit_of(p, order[0])};
}

static void push_followers(probing *p, candidate c)
{
    if (c.last + 1 == p->s->planes) return;
    const int now = p->order[c.table][c.last], next = p->order[c.table][c.last + 1];
    const double next_squared = squared(p, c.table, next);
    const double without = rounded(p, c.score - squared(p, c.table, now));
    push(p, (candidate){.score = rounded(p, without + next_squared),
                        .table = c.table,
                        .flipped = c.flipped ^ bit_of(p, now) ^ bit_of(p, next),
                        .last = c.last + 1});
    push(p, (candidate){.score = rounded(p, c.score + next_squared),
                        .table = c.table,
                        .flipped = c.flipped ^ bit_of(p, next),
                        .last = c.last + 1});
}

static void probe_point(probing *p, int64_t point)
{
    const search *s = p->s;
    int32_t *probes = bd_tensor_i32(s->probes) + point * s->count,
            *tables = bd_tensor_i32(s->table_ids) + point * s->count;
    p->point = point;
    p->size = 0;
    for (int t = 0; t < s->tables; t++) {
        p->main[t] = hash_of(p, t);
        if (t < s->count) probes[t] = p->main[t], tables[t] = t;
    }
    if (s->count <= s->tables) return;
    for (int t = 0; t < s->tables; t++)
        begin_table(p, t);
    for (int64_t i = p->size / 2; i-- > 0;)
        sift_down(p, i);
    for (int64_t n = s->tables; n < s->count && !bd_interrupted_at(n); n++) {
        const candidate c = pop(p); // there is one: check_inputs has counted them
        probes[n] = p->main[c.table] ^ c.flipped;
        tables[n] = c.table;
        push_followers(p, c);
    }
}

static void probe_points(void *arg, int64_t from, int64_t to)
{
    search *s = arg;
    // A probe takes one candidate and adds two.
    const int64_t most = s->count > s->tables ? s->count + 1 : s->tables;
    probing *p = bd_try_malloc(sizeof *p + sizeof p->heap[0] * (size_t)most);
    if (!p) {
        s->is_short_of_memory = true;
        return;
    }
    p->s = s;
    for (int64_t point = from; point < to && !bd_interrupted(); point++)
        probe_point(p, point);
    bd_free(p);
}

// Reads scalar input `i`, in [1, max].
static bool read_scalar(bd_op_ctx *c, int i, const char *name, int max, const char *hint, int64_t *value)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Need a scalar %s tensor, got %d dimensions.", name,
                   t->shape.rank);
        return false;
    }
    *value = bd_tensor_index(t, 0);
    if (*value < 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be at least 1 but got %lld.", name, (long long)*value);
    else if (*value > max)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Need %s <= %d, got %lld.%s", name, max, (long long)*value,
                   hint);
    return !bd_op_failed(c);
}

// False: the kernel has failed.
static bool check_inputs(bd_op_ctx *c, search *s)
{
    int64_t tables, planes;
    const braid_shape *products = &s->products->shape;
    if (products->rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Need a two-dimensional products tensor, got %d dimensions.",
                   products->rank);
        return false;
    }
    if (!read_scalar(c, 1, "num_tables", TABLES_MAX, "", &tables) ||
        !read_scalar(c, 2, "num_hyperplanes_per_table", PLANES_MAX, " Hashes are of 32 bits.", &planes) ||
        !read_scalar(c, 3, "num_probes", INT32_MAX, "", &s->count))
        return false;
    s->tables = (int)tables;
    s->planes = (int)planes;
    if (products->dims[1] != tables * planes) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected number of hyperplanes is %lld but received %lld inner products per point.",
                   (long long)tables * (long long)planes, (long long)products->dims[1]);
    } else if (products->dims[0] > 0 && s->count > tables << planes) {
        bd_op_fail(c, BRAID_INTERNAL, "Failed to get probe number %lld for point number 0.",
                   (long long)s->tables << s->planes);
    }
    return !bd_op_failed(c);
}

static void probes_run(bd_op_ctx *c)
{
    search s = {.products = bd_input(c, 0)};
    if (!check_inputs(c, &s)) return;
    const int64_t points = s.products->shape.dims[0];
    const braid_shape shape = bd_shape2(points, s.count);
    int64_t count;
    BD_STATUS(st);
    if (bd_shape_checked_count(&shape, &count, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    s.probes = bd_output(c, 0, BRAID_INT32, &shape);
    s.table_ids = bd_output(c, 1, BRAID_INT32, &shape);
    if (!s.probes || !s.table_ids) return;
    const int64_t cost = s.tables * s.planes + bd_max(s.count - s.tables, (int64_t)0) * 8;
    bd_parallel_for(c, points, bd_max((int64_t)4096 / cost, (int64_t)1), probe_points, &s);
    if (s.is_short_of_memory)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when making %lld probes of a point", (long long)s.count);
}

BD_OP(HyperplaneLSHProbes) = {
    .signature =
        "(point_hyperplane_product: CoordinateType, num_tables: int32, num_hyperplanes_per_table: int32, "
        "num_probes: int32) -> (probes: int32, table_ids: int32)",
    .attrs = "CoordinateType:type{float,double}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = probes_run}),
    .doc =
        "The buckets in which points are looked up in hash tables, and their tables: first the point's own of "
        "each table, then those of which it is the least far. A bit of a bucket is the sign of a product.",
};
