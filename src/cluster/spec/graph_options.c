// Maps TensorFlow's GraphOptions to Braid's rewrites.
#include "cluster/spec/graph_options.h"

#include "base/check.h"
#include <braid/session.h>

// Each toggle of RewriterConfig with its rewrite.
typedef Tensorflow__RewriterConfig__Toggle toggle;

static const struct toggle_row {
    size_t field; // of RewriterConfig
    unsigned rewrites;
} toggles[] = {
    {offsetof(Tensorflow__RewriterConfig, constant_folding), BRAID_REWRITE_CONSTANT_FOLDING},
    {offsetof(Tensorflow__RewriterConfig, common_subgraph_elimination), BRAID_REWRITE_COMMON_SUBEXPRESSIONS},
    {offsetof(Tensorflow__RewriterConfig, dependency_optimization), BRAID_REWRITE_DEPENDENCIES},
    {offsetof(Tensorflow__RewriterConfig, arithmetic_optimization), BRAID_REWRITE_ELEMENTWISE},
    {offsetof(Tensorflow__RewriterConfig, remapping), BRAID_REWRITE_REMAPPING | BRAID_REWRITE_UPDATES},
};

// The rewrites that TensorFlow makes also without the meta-optimizer.
#define WITHOUT_META_OPTIMIZER (BRAID_REWRITE_CONSTANT_FOLDING | BRAID_REWRITE_COMMON_SUBEXPRESSIONS)

static toggle *field_of(Tensorflow__RewriterConfig *c, const struct toggle_row *row)
{
    return (toggle *)(void *)((char *)c + row->field);
}

static unsigned read_optimizer(const Tensorflow__OptimizerOptions *o)
{
    if (o->opt_level != TENSORFLOW__OPTIMIZER_OPTIONS__LEVEL__L0) return 0;
    unsigned off = BRAID_REWRITE_ALL;
    if (o->do_constant_folding) off &= ~(unsigned)BRAID_REWRITE_CONSTANT_FOLDING;
    if (o->do_common_subexpression_elimination) off &= ~(unsigned)BRAID_REWRITE_COMMON_SUBEXPRESSIONS;
    return off;
}

unsigned bd_graph_options_read(const Tensorflow__GraphOptions *o)
{
    unsigned off = o && o->optimizer_options ? read_optimizer(o->optimizer_options) : 0;
    if (!o || !o->rewrite_options) return off;
    if (o->rewrite_options->disable_meta_optimizer) off |= BRAID_REWRITE_ALL & ~WITHOUT_META_OPTIMIZER;
    for (size_t i = 0; i < BD_COUNTOF(toggles); i++) {
        toggle t = *field_of(o->rewrite_options, &toggles[i]);
        if (t == TENSORFLOW__REWRITER_CONFIG__TOGGLE__OFF) off |= toggles[i].rewrites;
        bool is_on = t == TENSORFLOW__REWRITER_CONFIG__TOGGLE__ON ||
                     t == TENSORFLOW__REWRITER_CONFIG__TOGGLE__AGGRESSIVE;
        if (is_on && !o->rewrite_options->disable_meta_optimizer) off &= ~toggles[i].rewrites;
    }
    return off;
}

Tensorflow__GraphOptions *bd_graph_options_make(unsigned disabled, bool place_pruned_graph,
                                                bool sends_bfloat16, bd_graph_options *m)
{
    if (!disabled && !place_pruned_graph && !sends_bfloat16) return NULL;
    *m = (bd_graph_options){TENSORFLOW__GRAPH_OPTIONS__INIT, TENSORFLOW__OPTIMIZER_OPTIONS__INIT,
                            TENSORFLOW__REWRITER_CONFIG__INIT};
    m->message.place_pruned_graph = place_pruned_graph;
    m->message.enable_bfloat16_sendrecv = sends_bfloat16;
    m->message.rewrite_options = &m->rewriter;
    for (size_t i = 0; i < BD_COUNTOF(toggles); i++) {
        if (disabled & toggles[i].rewrites)
            *field_of(&m->rewriter, &toggles[i]) = TENSORFLOW__REWRITER_CONFIG__TOGGLE__OFF;
    }
    // TensorFlow's workers use only the level for their own rewrites.
    if ((disabled & WITHOUT_META_OPTIMIZER) != WITHOUT_META_OPTIMIZER) return &m->message;
    m->message.optimizer_options = &m->optimizer;
    m->optimizer.opt_level = TENSORFLOW__OPTIMIZER_OPTIONS__LEVEL__L0;
    for (size_t i = 0; i < BD_COUNTOF(toggles); i++) {
        if (!(disabled & toggles[i].rewrites))
            *field_of(&m->rewriter, &toggles[i]) = TENSORFLOW__REWRITER_CONFIG__TOGGLE__ON;
    }
    return &m->message;
}
