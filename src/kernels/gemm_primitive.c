// Products of floats by oneDNN's primitive for them, where it is faster than oneDNN's sgemm.
//
// That is so for products a b' of a few rows, which the gradients of dense layers are: sgemm copies all of
// b into another order first. Measured with libdnnl 2.6.3 and AVX-512, of 64 rows it takes three quarters
// of the time.
#include "kernels/gemm.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "kernels/dnnl.h"
#include <string.h>

enum {
    A,
    B,
    C,
    TENSORS
};

typedef struct key {
    int64_t m, n, k;
} key;

typedef struct product {
    bd_primitive base;
    key shape;
    dnnl_primitive_attr_t attr;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_memory_t memory[TENSORS], scratch;
} product;

// ---- Preparing ----

// Describes a [m, k], b [k, n], which lies in memory as [n, k], and c [m, n].
static bool describe(const key *s, dnnl_memory_desc_t md[TENSORS])
{
    return dnnl_memory_desc_init_by_tag(&md[A], 2, (dnnl_dims_t){s->m, s->k}, dnnl_f32, dnnl_ab) ==
               dnnl_success &&
           dnnl_memory_desc_init_by_tag(&md[B], 2, (dnnl_dims_t){s->k, s->n}, dnnl_f32, dnnl_ba) ==
               dnnl_success &&
           dnnl_memory_desc_init_by_tag(&md[C], 2, (dnnl_dims_t){s->m, s->n}, dnnl_f32, dnnl_ab) ==
               dnnl_success;
}

static bool make_desc(product *p, const dnnl_memory_desc_t md[TENSORS])
{
    dnnl_matmul_desc_t d;
    return bd_dnnl_engine() && dnnl_primitive_attr_create(&p->attr) == dnnl_success &&
           dnnl_primitive_attr_set_scratchpad_mode(p->attr, dnnl_scratchpad_mode_user) == dnnl_success &&
           dnnl_matmul_desc_init(&d, &md[A], &md[B], NULL, &md[C]) == dnnl_success &&
           dnnl_primitive_desc_create(&p->desc, &d, p->attr, bd_dnnl_engine(), NULL) == dnnl_success;
}

static bool make_memory(dnnl_memory_t *m, const dnnl_memory_desc_t *md)
{
    return dnnl_memory_create(m, md, bd_dnnl_engine(), DNNL_MEMORY_NONE) == dnnl_success;
}

static bool prepare(product *p)
{
    dnnl_memory_desc_t md[TENSORS];
    if (!describe(&p->shape, md) || !make_desc(p, md) ||
        dnnl_stream_create(&p->stream, bd_dnnl_engine(), dnnl_stream_default_flags) != dnnl_success ||
        dnnl_primitive_create(&p->primitive, p->desc) != dnnl_success)
        return false;
    const dnnl_memory_desc_t *scratch = dnnl_primitive_desc_query_md(p->desc, dnnl_query_scratchpad_md, 0);
    p->base.scratch_size = dnnl_memory_desc_get_size(scratch);
    bool ok = make_memory(&p->scratch, scratch);
    for (int i = 0; i < TENSORS; i++)
        ok = ok && make_memory(&p->memory[i], &md[i]);
    return ok;
}

static void product_free(bd_primitive *base)
{
    product *p = BD_CONTAINER_OF(base, product, base);
    for (int i = 0; i < TENSORS; i++)
        if (p->memory[i]) dnnl_memory_destroy(p->memory[i]);
    if (p->scratch) dnnl_memory_destroy(p->scratch);
    if (p->primitive) dnnl_primitive_destroy(p->primitive);
    if (p->desc) dnnl_primitive_desc_destroy(p->desc);
    if (p->stream) dnnl_stream_destroy(p->stream);
    if (p->attr) dnnl_primitive_attr_destroy(p->attr);
    bd_free(p);
}

// Whether the primitive has code of its own for this CPU; elsewhere it calls sgemm.
static void look_for_code(void *found)
{
    product p = {.shape = {64, 64, 64}};
    dnnl_memory_desc_t md[TENSORS];
    const char *name = NULL;
    *(bool *)found =
        describe(&p.shape, md) && make_desc(&p, md) &&
        dnnl_primitive_desc_query(p.desc, dnnl_query_impl_info_str, 0, (void *)&name) == dnnl_success &&
        strncmp(name, "brg:", strlen("brg:")) == 0;
    if (p.desc) dnnl_primitive_desc_destroy(p.desc);
    if (p.attr) dnnl_primitive_attr_destroy(p.attr);
}

static bool has_code(void)
{
    static bd_once once = BD_ONCE_INIT;
    static bool found;
    bd_once_run(&once, look_for_code, &found);
    return found;
}

// Of fewer rows sgemm is faster, of more as fast. Of a short sum both have little to copy.
#define ROWS_MIN 16
#define ROWS_MAX 512
#define DEPTH_MIN 32

static bool is_faster(const bd_gemm_shape *s)
{
    if (s->transpose_a || !s->transpose_b || s->m < ROWS_MIN || s->m > ROWS_MAX || s->k < DEPTH_MIN ||
        s->n < 1)
        return false;
    const double all = (double)s->m * (double)s->n * (double)s->k;
    return all <= (double)BD_DNNL_CALL_MULTIPLICATIONS && has_code();
}

// ---- Running ----

static bool point_at(dnnl_memory_t m, const void *data)
{
    return dnnl_memory_set_data_handle(m, (void *)(uintptr_t)data) == dnnl_success;
}

static bool product_run(bd_primitive *base, const void *gemm_data, void *scratch, const bd_team *team)
{
    (void)team;
    product *p = BD_CONTAINER_OF(base, product, base);
    const bd_gemm_data *d = gemm_data;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, p->memory[A]},
                              {DNNL_ARG_WEIGHTS, p->memory[B]},
                              {DNNL_ARG_DST, p->memory[C]},
                              {DNNL_ARG_SCRATCHPAD, p->scratch}};
    bd_dnnl_one_thread();
    return point_at(p->memory[A], d->a) && point_at(p->memory[B], d->b) && point_at(p->memory[C], d->c) &&
           point_at(p->scratch, scratch) && bd_dnnl_execute(p->primitive, p->stream, 4, args);
}

bd_primitive *bd_gemm_take(bd_primitive_cache *cache, const bd_gemm_shape *shape)
{
    bd_dnnl_one_thread();
    if (!is_faster(shape)) return NULL;
    const key k = {shape->m, shape->n, shape->k};
    bd_primitive *found = bd_primitive_take(cache, &k, sizeof k);
    if (found) return found;
    product *p = bd_calloc(1, sizeof *p);
    p->shape = k;
    p->base = (bd_primitive){.threads_max = 1,
                             .free = product_free,
                             .shape = &p->shape,
                             .shape_size = sizeof p->shape,
                             .run = product_run};
    if (prepare(p)) return &p->base;
    product_free(&p->base);
    return NULL;
}
