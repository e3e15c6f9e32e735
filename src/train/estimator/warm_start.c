// Warm starts: which variables get their first values from a checkpoint, and under which names it has them.
#include "train/estimator/warm_start.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/log.h"
#include "train/variables/variable_store.h"
#include <braid/checkpoint_reader.h>
#include <braid/init_from_checkpoint.h>
#include <regex.h>
#include <string.h>

typedef struct renamed {
    char *name, *previous;
} renamed;

struct train_warm_start {
    char *from;
    bool all;        // variables that are not trained, too
    bool has_filter; // `filter` is compiled
    regex_t filter;
    BD_ARRAY(renamed) renamed;
};

// ---- Settings ----

// The expression matches at the beginning of a name, as Python's re.match does.
static braid_code compile(train_warm_start *w, const char *expression, braid_status *st)
{
    char *anchored = bd_asprintf("^(%s)", expression), why[200];
    const int failed = regcomp(&w->filter, anchored, REG_EXTENDED | REG_NOSUB);
    bd_free(anchored);
    w->has_filter = !failed;
    if (!failed) return BRAID_OK;
    regerror(failed, &w->filter, why, sizeof why);
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Warm start: '%s' is no regular expression: %s", expression,
                   why);
}

static braid_code fill(train_warm_start *w, const braid_warm_start *settings, braid_status *st)
{
    w->all = settings->untrained;
    for (int i = 0; i < settings->renamed_count; i++) {
        const braid_renamed_variable *r = &settings->renamed[i];
        if (!r->name || !r->previous)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Warm start: element %d of `renamed` lacks `name` or `previous`", i);
        bd_array_push(&w->renamed, (renamed){bd_strdup(r->name), bd_strdup(r->previous)});
    }
    return settings->variables ? compile(w, settings->variables, st) : BRAID_OK;
}

braid_code train_warm_start_copy(const braid_estimator_options *o, train_warm_start **copy, braid_status *st)
{
    *copy = NULL;
    if (o->warm_start && (o->warm_start_from || !o->warm_start->from))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Warm start: a checkpoint is named by `warm_start_from` or by `warm_start->from`, and "
                       "not by both or none");
    const char *from = o->warm_start ? o->warm_start->from : o->warm_start_from;
    if (!from) return BRAID_OK;
    train_warm_start *w = bd_calloc(1, sizeof *w);
    w->from = bd_strdup(from);
    if (!o->warm_start || !fill(w, o->warm_start, st)) {
        *copy = w;
        return BRAID_OK;
    }
    train_warm_start_free(w);
    return st->code;
}

void train_warm_start_free(train_warm_start *w)
{
    if (!w) return;
    for (size_t i = 0; i < w->renamed.len; i++) {
        bd_free(w->renamed.items[i].name);
        bd_free(w->renamed.items[i].previous);
    }
    bd_array_free(&w->renamed);
    if (w->has_filter) regfree(&w->filter);
    bd_free(w->from);
    bd_free(w);
}

// ---- Variables ----

typedef BD_ARRAY(braid_checkpoint_assignment) assignments;

static const char *checkpoint_name(const braid_graph *g, braid_out ref)
{
    const train_slice *slice = train_slice_of(g, ref);
    return slice ? slice->full_name : braid_op_name(ref.op);
}

static bool is_assigned(const assignments *list, const char *name)
{
    for (size_t i = 0; i < list->len; i++)
        if (strcmp(list->items[i].to, name) == 0) return true;
    return false;
}

static const char *previous_name(const train_warm_start *w, const char *name)
{
    for (size_t i = 0; i < w->renamed.len; i++)
        if (strcmp(w->renamed.items[i].name, name) == 0) return w->renamed.items[i].previous;
    return NULL;
}

// Adds the variable, if it is wanted and the checkpoint has it. A renamed one that the checkpoint lacks is an
// error of the graph later.
static void consider(const train_warm_start *w, const braid_checkpoint_reader *reader, const char *name,
                     assignments *list)
{
    if (is_assigned(list, name) || strcmp(name, BRAID_GLOBAL_STEP) == 0) return;
    if (w->has_filter && regexec(&w->filter, name, 0, NULL, 0)) return;
    const char *previous = previous_name(w, name);
    if (previous || braid_checkpoint_reader_find(reader, name))
        bd_array_push(list, (braid_checkpoint_assignment){.from = previous ? previous : name, .to = name});
}

// A name that is written wrong would leave a variable with its own first value.
static braid_code check_renamed(const train_warm_start *w, const assignments *list, braid_status *st)
{
    for (size_t i = 0; i < w->renamed.len; i++)
        if (!is_assigned(list, w->renamed.items[i].name))
            return bd_fail(
                st, BRAID_NOT_FOUND,
                "Warm start: the variable '%s', which was '%s', is none of those that are to begin "
                "with values of the checkpoint",
                w->renamed.items[i].name, w->renamed.items[i].previous);
    return BRAID_OK;
}

braid_code train_warm_start_apply(const train_warm_start *w, braid_graph *g, braid_status *st)
{
    if (!w) return BRAID_OK;
    braid_checkpoint_reader *reader = braid_checkpoint_reader_open(w->from, st);
    if (!reader) return bd_status_prefix(st, "Warm start: ");
    int count;
    const braid_out *vars =
        braid_collection(g, w->all ? BRAID_GLOBAL_VARIABLES : BRAID_TRAINABLE_VARIABLES, &count);
    assignments list = {0};
    for (int i = 0; i < count; i++)
        consider(w, reader, checkpoint_name(g, vars[i]), &list);
    if (!check_renamed(w, &list, st)) {
        bd_info("Warm start: %zu variables begin with values of %s", list.len,
                braid_checkpoint_reader_prefix(reader));
        if (list.len)
            braid_init_from_checkpoint(g, braid_checkpoint_reader_prefix(reader), list.items, (int)list.len);
        braid_graph_status(g, st);
    }
    bd_array_free(&list);
    braid_checkpoint_reader_close(reader);
    return st->code;
}
