// Prediction: the results of a model for an input, an example or a batch at a time.
#include "base/alloc.h"
#include "train/estimator/estimator.h"
#include <string.h>

struct braid_predictor {
    train_model model;
    braid_monitored_session *session;
    train_tensors wanted;  // the predictions to fetch
    braid_tensor **batch;  // [wanted], of the last run; NULL: there is none
    braid_tensor **result; // [wanted], what the last call has given
    bool whole_batches;
    int64_t row, rows; // the next example of the batch, and how many it has
};

static void free_tensors(braid_tensor **tensors, size_t count)
{
    for (size_t i = 0; tensors && i < count; i++) {
        braid_tensor_free(tensors[i]);
        tensors[i] = NULL;
    }
}

void braid_predictor_free(braid_predictor *p)
{
    if (!p) return;
    if (p->session) braid_monitored_session_close(p->session);
    free_tensors(p->batch, p->wanted.len);
    free_tensors(p->result, p->wanted.len);
    bd_free(p->batch);
    bd_free(p->result);
    train_tensors_fini(&p->wanted);
    train_model_fini(&p->model);
    bd_free(p);
}

int braid_predictor_count(const braid_predictor *p)
{
    return (int)p->wanted.len;
}

const char *braid_predictor_name(const braid_predictor *p, int index)
{
    return p->wanted.items[index].name;
}

// ---- Which predictions ----

static const braid_named_tensor *find(const train_tensors *list, const char *name)
{
    for (size_t i = 0; i < list->len; i++)
        if (strcmp(list->items[i].name, name) == 0) return &list->items[i];
    return NULL;
}

static braid_code choose(braid_predictor *p, const braid_predict_options *o, braid_status *st)
{
    const train_tensors *all = &p->model.spec.predictions;
    if (!all->len)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "The model function has set no predictions (braid_spec_prediction)");
    for (size_t i = 0; !o->keys && i < all->len; i++)
        train_tensors_add(&p->wanted, all->items[i].name, all->items[i].values);
    for (int i = 0; o->keys && i < o->key_count; i++) {
        const braid_named_tensor *found = find(all, o->keys[i]);
        if (!found)
            return bd_fail(st, BRAID_NOT_FOUND, "The model has no prediction '%s'; its first is '%s'",
                           o->keys[i], all->items[0].name);
        train_tensors_add(&p->wanted, found->name, found->values);
    }
    return BRAID_OK;
}

static braid_code open_predictor(braid_predictor *p, braid_estimator *e, const braid_predict_options *o,
                                 train_hook_list *hooks, braid_status *st)
{
    char *path;
    if (train_find_checkpoint(e, o->checkpoint_path, "predict", &path, st)) return st->code;
    p->whole_batches = o->whole_batches;
    if (!train_model_build(&p->model, e, BRAID_MODE_PREDICT, &o->input, NULL, st) && !choose(p, o, st)) {
        p->batch = bd_calloc(p->wanted.len, sizeof *p->batch);
        p->result = bd_calloc(p->wanted.len, sizeof *p->result);
        train_hooks_move(hooks, &p->model.inputs.hooks);
        train_hooks_move(hooks, &p->model.spec.hooks[BRAID_MODE_PREDICT]);
        p->session = train_open_restored(e, &p->model, path, hooks);
        braid_monitored_session_status(p->session, st);
    }
    bd_free(path);
    return st->code;
}

braid_predictor *braid_estimator_predict(braid_estimator *e, const braid_predict_options *options,
                                         braid_status *status)
{
    BD_STATUS(unwanted);
    train_hook_list hooks = {0};
    train_hooks_take(&hooks, options->hooks);
    braid_predictor *p = bd_calloc(1, sizeof *p);
    const braid_code code = open_predictor(p, e, options, &hooks, status ? status : unwanted);
    train_hooks_free(&hooks);
    if (!code) return p;
    braid_predictor_free(p);
    return NULL;
}

// ---- Results ----

// Element `row` of the first dimension.
static braid_tensor *row_of(const braid_tensor *t, int64_t row, braid_status *st)
{
    braid_shape shape = braid_tensor_shape(t);
    shape.rank--;
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = shape.dims[i + 1];
    const braid_dtype dtype = braid_tensor_dtype(t);
    const int64_t count = braid_shape_num_elements(shape);
    const size_t bytes = (size_t)count * braid_dtype_size(dtype);
    if (dtype != BRAID_STRING)
        return braid_tensor_from(dtype, shape, (const char *)braid_tensor_data(t) + (size_t)row * bytes, st);
    braid_tensor *out = braid_tensor_new(dtype, shape, st);
    for (int64_t i = 0; out && i < count; i++) {
        size_t len;
        const char *text = braid_tensor_string_at(t, row * count + i, &len);
        braid_tensor_set_string(out, i, text, len);
    }
    return out;
}

static braid_code count_rows(braid_predictor *p, braid_status *st)
{
    for (size_t i = 0; i < p->wanted.len; i++) {
        const braid_shape shape = braid_tensor_shape(p->batch[i]);
        const int64_t rows = shape.rank ? shape.dims[0] : -1;
        if (i == 0) p->rows = rows;
        if (rows >= 0 && rows == p->rows) continue;
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Prediction '%s' has %lld rows and '%s' %lld: predictions that are given one by one "
                       "have the batch as their first dimension (whole_batches gives them as they are)",
                       p->wanted.items[i].name, (long long)bd_max(rows, 0), p->wanted.items[0].name,
                       (long long)bd_max(p->rows, 0));
    }
    return BRAID_OK;
}

static braid_code end_of(const braid_predictor *p, braid_status *st)
{
    if (braid_monitored_session_status(p->session, st)) return st->code;
    return bd_fail(st, BRAID_OUT_OF_RANGE, "The input has ended");
}

static braid_code next_batch(braid_predictor *p, braid_status *st)
{
    free_tensors(p->batch, p->wanted.len);
    p->row = p->rows = 0;
    if (braid_should_stop(p->session)) return end_of(p, st);
    BD_ARRAY(braid_fetch) fetches = {0};
    for (size_t i = 0; i < p->wanted.len; i++)
        bd_array_push(&fetches, (braid_fetch){p->wanted.items[i].values, &p->batch[i]});
    bd_array_push(&fetches, (braid_fetch){{NULL, 0}, NULL});
    const braid_code code = braid_run(p->session, NULL, fetches.items, NULL);
    bd_array_free(&fetches);
    if (code) return end_of(p, st);
    return p->whole_batches ? BRAID_OK : count_rows(p, st);
}

static braid_code next(braid_predictor *p, braid_status *st)
{
    while (p->whole_batches || p->row >= p->rows) {
        if (next_batch(p, st)) return st->code;
        if (p->whole_batches) break;
    }
    free_tensors(p->result, p->wanted.len);
    for (size_t i = 0; i < p->wanted.len; i++) {
        p->result[i] = p->whole_batches ? braid_tensor_copy(p->batch[i]) : row_of(p->batch[i], p->row, st);
        if (!p->result[i]) return st->code;
    }
    p->row++;
    return BRAID_OK;
}

braid_code braid_predictor_next(braid_predictor *p, const braid_tensor **values, braid_status *status)
{
    BD_STATUS(unwanted);
    const braid_code code = next(p, status ? status : unwanted);
    for (size_t i = 0; i < p->wanted.len && !code; i++)
        values[i] = p->result[i];
    return code;
}
