// Runs the rewrites in order: this module's own, then the fusions of the registry.
#include "graph/rewrite.h"

#include "base/check.h"
#include "graph/rewrite_internal.h"

typedef struct pass {
    unsigned rewrite;
    braid_code (*run)(bd_rewriter *r, braid_status *st);
} pass;

static const pass passes[] = {
    {BRAID_REWRITE_CONSTANT_FOLDING, bd_rewrite_fold},
    {BRAID_REWRITE_COMMON_SUBEXPRESSIONS, bd_rewrite_merge},
    {BRAID_REWRITE_DEPENDENCIES, bd_rewrite_dependencies},
};

// In this order: a product takes its bias and activation before chains of element-wise nodes are looked for.
static const unsigned fusions[] = {BRAID_REWRITE_REMAPPING, BRAID_REWRITE_UPDATES, BRAID_REWRITE_ELEMENTWISE};

static braid_code run_pass(bd_rewriter *r, const pass *p, braid_status *st)
{
    braid_code code = bd_rewriter_sort(r, st);
    if (!code) code = p->run(r, st);
    return code;
}

static braid_code run_fusions(bd_rewriter *r, unsigned rewrite, braid_status *st)
{
    for (size_t i = 0; i < bd_op_table_len; i++) {
        const bd_fusion *fusion = bd_op_table[i].op->fusion;
        if (!fusion || fusion->rewrite != rewrite) continue;
        braid_code code = run_pass(r, &(pass){rewrite, fusion->run}, st);
        if (code) return code;
    }
    return BRAID_OK;
}

static braid_code run_all(bd_rewriter *r, braid_status *st)
{
    unsigned off = r->options->off;
    braid_code code = BRAID_OK;
    for (size_t i = 0; !code && i < BD_COUNTOF(passes); i++) {
        if (!(off & passes[i].rewrite)) code = run_pass(r, &passes[i], st);
    }
    for (size_t i = 0; !code && i < BD_COUNTOF(fusions); i++) {
        if (!(off & fusions[i])) code = run_fusions(r, fusions[i], st);
    }
    return code;
}

braid_code bd_rewrite_graph(braid_graph *g, const bd_rewrite_options *options, braid_status *st)
{
    if ((options->off & BRAID_REWRITE_ALL) == BRAID_REWRITE_ALL) return BRAID_OK;
    bd_rewriter r;
    BD_STATUS(refused);
    if (bd_rewriter_init(&r, g, options, refused)) { // the plan reports the error better
        bd_rewriter_fini(&r);
        return BRAID_OK;
    }
    braid_code code = run_all(&r, st);
    bd_rewriter_sweep(&r);
    bd_rewriter_fini(&r);
    return code;
}
