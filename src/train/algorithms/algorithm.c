// Training algorithms by name, and what all of them share.
#include "train/algorithms/algorithm.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "train/algorithms/local_global.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"
#include "train/variables/variable_store.h"
#include <braid/ops.h>
#include <string.h>

// ---- The table ----

const braid_algorithm_info *braid_algorithm_at(int index)
{
    return index >= 0 && (size_t)index < train_algorithm_table_len ? &train_algorithm_table[index]->info
                                                                   : NULL;
}

static const train_algorithm *find(const char *name)
{
    for (size_t i = 0; name && i < train_algorithm_table_len; i++)
        if (strcmp(train_algorithm_table[i]->info.name, name) == 0) return train_algorithm_table[i];
    return NULL;
}

braid_algorithm_options braid_algorithm_defaults(const char *name)
{
    const train_algorithm *type = find(name);
    if (!type) return (braid_algorithm_options){0};
    braid_algorithm_options o = type->defaults;
    o.num_workers = 1;
    o.is_chief = true;
    if (!o.period) o.period = 1;
    return o;
}

// ---- Making one ----

static void release(void *arg)
{
    braid_algorithm *a = arg;
    bd_array_free(&a->accrued);
    bd_free(a->state);
    bd_free(a->summary_dir);
    train_curve_close(a->curve, &a->report.own);
    train_report_fini(&a->report);
    bd_free(a);
}

static void fail_of_name(braid_graph *g, const char *name)
{
    bd_strbuf names = {0};
    for (size_t i = 0; i < train_algorithm_table_len; i++)
        bd_strbuf_appendf(&names, "%s%s", i ? ", " : "", train_algorithm_table[i]->info.name);
    braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "There is no training algorithm '%s'. There are: %s",
                     name ? name : "", bd_strbuf_str(&names));
    bd_strbuf_fini(&names);
}

// The text of what is wrong with the options, NULL if nothing is.
static const char *wrong_option(const braid_algorithm_options *o)
{
    if (o->num_workers < 1) return "num_workers must be at least 1";
    if (o->worker < 0 || o->worker >= o->num_workers) return "worker must be 0 to num_workers - 1";
    if (!(o->learning_rate > 0)) return "learning_rate must be more than 0";
    if (o->period < 1) return "period must be at least 1";
    if (!(o->rho >= 0)) return "rho must not be negative";
    if (!(o->momentum >= 0 && o->momentum < 1)) return "momentum must be at least 0 and less than 1";
    if (o->staleness < 0) return "staleness must not be negative";
    if (o->backup_workers < 0 || o->backup_workers >= o->num_workers)
        return "backup_workers must be 0 to num_workers - 1";
    return NULL;
}

braid_algorithm *braid_algorithm_new(braid_graph *g, const char *name, const braid_algorithm_options *options)
{
    const train_algorithm *type = find(name);
    braid_algorithm *a = bd_calloc(1, sizeof *a);
    a->graph = g;
    a->type = type ? type : train_algorithm_table[0];
    a->o = *options;
    a->summary_dir = options->summary_dir ? bd_strdup(options->summary_dir) : NULL;
    a->report.own.worker = options->worker;
    braid_graph_own(g, a, release);
    const char *wrong = type ? wrong_option(options) : NULL;
    if (!type)
        fail_of_name(g, name);
    else if (wrong)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Training algorithm '%s': %s", name, wrong);
    return a;
}

// ---- Variables ----

// The node takes the device of nodes that are no variables.
void braid_push_algorithm(braid_graph *g, braid_algorithm *a)
{
    if (!a->here) a->here = braid_no_op(g, NULL);
    train_make_copies(g, a->type->info.has_copies ? a->here : NULL);
}

void braid_pop_algorithm(braid_graph *g)
{
    train_make_copies(g, NULL);
}

void train_begin_here(const braid_algorithm *a)
{
    braid_push_colocate(a->graph, a->here);
}

void train_end_here(const braid_algorithm *a)
{
    braid_pop_colocate(a->graph);
}

// ---- The step ----

braid_optimizer *train_sgd(const braid_algorithm *a)
{
    return braid_gradient_descent(a->graph, a->o.learning_rate);
}

braid_optimizer *train_optimizer_or(const braid_algorithm *a, braid_optimizer *own)
{
    return a->o.optimizer ? a->o.optimizer : own;
}

void train_compress(const braid_algorithm *a, braid_grad_and_var *pairs, int count)
{
    if (a->o.compression.method) braid_compress_gradients(a->graph, &a->o.compression, pairs, count);
}

// CountUpTo gives each update the number of those before it, also when several happen at once.
braid_op *train_count_update(braid_algorithm *a, braid_op *after)
{
    braid_graph *g = a->graph;
    const braid_out typed = train_typed(a->step);
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(typed));
    const bool is_resource = train_kind_of(a->step) == TRAIN_RESOURCE;
    braid_push_control(g, &after, after ? 1 : 0);
    braid_push_colocate(g, a->step.op);
    braid_op_desc *d = braid_op_begin(g, is_resource ? "ResourceCountUpTo" : "CountUpTo", "count_update");
    braid_op_input(d, a->step);
    braid_op_attr_int(d, "limit", dtype == BRAID_INT32 ? INT32_MAX : INT64_MAX);
    if (is_resource) braid_op_attr_type(d, "T", dtype);
    a->counted = braid_op_end_out(d);
    braid_pop_colocate(g);
    braid_pop_control(g);
    return a->counted.op;
}

static bool may_build(const braid_algorithm *a, braid_out global_step)
{
    if (braid_graph_status(a->graph, NULL)) return false;
    if (global_step.op && !a->train) return true;
    braid_graph_fail(a->graph, BRAID_INVALID_ARGUMENT,
                     a->train ? "Training algorithm '%s': its step is there already"
                              : "Training algorithm '%s' needs a global step (braid_global_step makes one)",
                     a->type->info.name);
    return false;
}

static bool has_pair(const braid_grad_and_var *pairs, int count)
{
    for (int i = 0; i < count; i++)
        if (pairs[i].grad.op && pairs[i].var.op) return true;
    return false;
}

// Each variable must be a copy where the algorithm has copies.
static bool check_pairs(const braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    if (!has_pair(pairs, count)) {
        braid_graph_fail(a->graph, BRAID_INVALID_ARGUMENT,
                         "No gradients provided for any variable: the loss depends on none of them.");
        return false;
    }
    for (int i = 0; i < count && a->type->info.has_copies; i++) {
        if (!pairs[i].var.op || train_centre_of(a->graph, pairs[i].var).op != pairs[i].var.op) continue;
        braid_graph_fail(
            a->graph, BRAID_INVALID_ARGUMENT,
            "Training algorithm '%s': variable '%s' was made outside of braid_push_algorithm and "
            "has no copy",
            a->type->info.name, braid_op_name(pairs[i].var.op));
        return false;
    }
    return true;
}

static bool may_compress(const braid_algorithm *a)
{
    const char *method = a->o.compression.method;
    if (!method || a->type->compresses || strcmp(method, "none") == 0) return true;
    braid_graph_fail(
        a->graph, BRAID_INVALID_ARGUMENT,
        "Training algorithm '%s' does not compress: its workers send no gradients, or are threads "
        "of one process",
        a->type->info.name);
    return false;
}

braid_op *braid_algorithm_apply(braid_algorithm *a, const braid_grad_and_var *pairs, int count,
                                braid_out global_step)
{
    braid_graph *g = a->graph;
    if (!may_build(a, global_step) || !check_pairs(a, pairs, count) || !may_compress(a)) return NULL;
    a->step = global_step;
    if (!a->here) a->here = braid_no_op(g, NULL);
    a->scope = braid_push_name_scope(g, a->type->info.name);
    if (a->type->info.has_copies) train_build_seen(a);
    a->type->build(a, pairs, count);
    if (a->type->info.has_copies) train_build_pull(a);
    if (a->o.num_workers > 1) train_report_build(&a->report, g, global_step);
    braid_pop_name_scope(g);
    return braid_graph_status(g, NULL) ? NULL : a->train;
}

braid_op *braid_algorithm_minimize(braid_algorithm *a, braid_out loss, braid_out global_step)
{
    if (braid_graph_status(a->graph, NULL)) return NULL;
    int count;
    const braid_grad_and_var *pairs = braid_compute_gradients(train_sgd(a), loss, NULL, 0, &count);
    a->loss = loss;
    return braid_algorithm_apply(a, pairs, count, global_step);
}

int braid_algorithm_reports(braid_algorithm *a, const braid_worker_report **reports)
{
    const int count = train_report_note_own(&a->report);
    *reports = a->report.all.items;
    return count;
}
