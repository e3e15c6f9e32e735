// CacheDataset: the first iterator keeps the elements of its input in memory or in a file; later ones read
// them from there.
//
// A cache in memory is shared by the iterators of a pipeline with the same path, or is a resource
// (CacheDatasetV2). The first iterator claims it and fills it; when it is closed before the end, the cache is
// empty again. A cache in a file is a tensor bundle of that prefix, with a tensor for each component of each
// element; a lock file beside it tells that an iterator is writing it.
#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "io/bundle.h"
#include "io/file.h"
#include "ops/common/anonymous.h"
#include "ops/common/file_arg.h"
#include "ops/common/handle.h"
#include "ops/dataset/dataset.h"
#include <stdio.h>
#include <string.h>

// ---- Caches in memory ----

typedef struct memory_cache {
    bd_resource base;
    bd_mutex mu;
    bool is_claimed, is_complete; // guarded by mu
    BD_ARRAY(braid_tensor)
    // of the elements, one after another. Only the claimant writes them until they are complete; after that
    // they do not change
    tensors;
} memory_cache;

static void destroy_cache(bd_resource *r)
{
    memory_cache *m = BD_CONTAINER_OF(r, memory_cache, base);
    bd_tensors_fini(m->tensors.items, (int)m->tensors.len);
    bd_array_free(&m->tensors);
    bd_mutex_fini(&m->mu);
    bd_free(m);
}

static const bd_resource_type cache_type = {.name = "tensorflow::data::MemoryCache",
                                            .destroy = destroy_cache};

static braid_code create_cache(void *arg, bd_resource **out, braid_status *st)
{
    (void)arg, (void)st;
    memory_cache *m = bd_calloc(1, sizeof *m);
    bd_resource_init(&m->base, &cache_type);
    bd_mutex_init(&m->mu);
    *out = &m->base;
    return BRAID_OK;
}

// ---- Datasets and iterators ----

typedef struct cache_dataset {
    bd_dataset base;
    char *prefix;       // owned; of the files
    bd_resource *given; // a reference to a memory_cache; NULL: one for each pipeline
} cache_dataset;

typedef struct cache_iterator {
    bd_iterator base;
    bool writes;
    int64_t at;           // the next element
    memory_cache *memory; // a reference
    char *lock_path;      // owned; NULL unless the lock is ours
    bd_bundle_writer *writer;
    bd_bundle *bundle;
} cache_iterator;

// The limit of elements in a file, as in TensorFlow: their numbers have seven digits.
#define FILE_ELEMENTS_MAX 10000000

static cache_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, cache_dataset, base);
}

static cache_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, cache_iterator, base);
}

static void destroy(bd_dataset *base)
{
    cache_dataset *d = dataset_of(base);
    bd_free(d->prefix);
    bd_resource_unref(d->given);
}

static braid_code open_input(bd_iterator *it, braid_status *st)
{
    return bd_iterator_open(it->dataset->inputs[0], it->chain, it, 0, &it->input, st);
}

// ---- In memory ----

static braid_code memory_open(bd_iterator *it, braid_status *st)
{
    cache_iterator *c = iterator_of(it);
    const cache_dataset *d = dataset_of(it->dataset);
    bd_resource *r = d->given ? bd_resource_ref(d->given) : NULL;
    if (!r) {
        char *name = bd_iterator_shared_name(it, "MemoryCache");
        braid_code code = bd_resources_lookup_or_create(
            it->chain->pipeline->resources,
            &(bd_resource_spec){"tf_data", name, &cache_type, create_cache, NULL}, &r, st);
        bd_free(name);
        if (code) return code;
    }
    c->memory = BD_CONTAINER_OF(r, memory_cache, base);
    bd_mutex_lock(&c->memory->mu);
    c->writes = !c->memory->is_claimed;
    c->memory->is_claimed = true;
    bool is_complete = c->memory->is_complete;
    bd_mutex_unlock(&c->memory->mu);
    if (c->writes) return open_input(it, st);
    return is_complete
               ? BRAID_OK
               : bd_fail(st, BRAID_INTERNAL, "Cache should only be read after it has been completed.");
}

static bd_turn memory_next(bd_iterator *it)
{
    cache_iterator *c = iterator_of(it);
    int count = it->dataset->count;
    if (c->writes) return bd_pull(it, it->input);
    if (c->at * count == (int64_t)c->memory->tensors.len) return bd_give_end(it);
    bd_tensors_ref(it->answer.tensors, c->memory->tensors.items + c->at++ * count, count);
    return bd_give(it);
}

static bd_turn memory_received(bd_iterator *it, bd_iterator *from)
{
    memory_cache *m = iterator_of(it)->memory;
    size_t count = (size_t)it->dataset->count;
    if (from->answer.kind == BD_ANSWER_ELEMENT) {
        bd_array_reserve(&m->tensors, m->tensors.len + count);
        bd_tensors_ref(m->tensors.items + m->tensors.len, from->answer.tensors, (int)count);
        m->tensors.len += count;
    } else if (from->answer.kind == BD_ANSWER_END) {
        bd_mutex_lock(&m->mu);
        m->is_complete = true;
        bd_mutex_unlock(&m->mu);
    }
    return bd_pass(it, from);
}

static void memory_close(bd_iterator *it)
{
    cache_iterator *c = iterator_of(it);
    if (!c->memory) return;
    bd_mutex_lock(&c->memory->mu);
    if (c->writes && !c->memory->is_complete) { // begun, and given up
        bd_tensors_fini(c->memory->tensors.items, (int)c->memory->tensors.len);
        c->memory->tensors.len = 0;
        c->memory->is_claimed = false;
    }
    bd_mutex_unlock(&c->memory->mu);
    bd_resource_unref(&c->memory->base);
}

static const bd_dataset_kind memory_kind = {
    .name = "MemoryCache",
    .dataset_size = sizeof(cache_dataset),
    .iterator_size = sizeof(cache_iterator),
    .destroy = destroy,
    .cardinality = bd_cardinality_of_input,
    .open = memory_open,
    .next = memory_next,
    .received = memory_received,
    .close = memory_close,
};

// ---- In a file ----

static braid_code file_open(bd_iterator *it, braid_status *st)
{
    cache_iterator *c = iterator_of(it);
    const bd_fs *fs = bd_iterator_fs(it);
    const char *prefix = dataset_of(it->dataset)->prefix;
    c->writes = !bd_bundle_exists(fs, prefix);
    return c->writes ? open_input(it, st) : bd_bundle_open(fs, prefix, &c->bundle, st);
}

// The name of component `i` of an element, as TensorFlow makes it.
static void component_name(const bd_iterator *it, int64_t element, int i, char out[64])
{
    int digits = snprintf(out, 64, "%d", it->dataset->count - 1);
    snprintf(out, 64, "%07lld_%0*d", (long long)element, digits, i);
}

static braid_code refuse_locked(const bd_fs *fs, const char *path, braid_status *st)
{
    BD_STATUS(unwanted);
    char *text = NULL;
    size_t len;
    bd_file_read_all(fs, path, 4096, &text, &len, unwanted);
    bd_fail(
        st, BRAID_ALREADY_EXISTS,
        "There appears to be a concurrent caching iterator running - cache lockfile already exists ('%s'). If you are "
        "sure no other running TF computations are using this cache prefix, delete the lockfile and re-initialize the "
        "iterator. Lockfile contents: %s",
        path, text ? text : "");
    bd_free(text);
    return st->code;
}

static braid_code begin_file(bd_iterator *it, braid_status *st)
{
    cache_iterator *c = iterator_of(it);
    const bd_fs *fs = bd_iterator_fs(it);
    const char *prefix = dataset_of(it->dataset)->prefix;
    char *path = bd_asprintf("%s_0.lockfile", prefix), *dir = bd_path_dir(prefix), text[64];
    bd_file *file = NULL;
    int len = snprintf(text, sizeof text, "Created at: %lld", (long long)(bd_wall_micros() / 1000000));
    braid_code code = BRAID_OK;
    if (bd_bundle_exists(fs, prefix)) // another iterator was faster
        code = bd_fail(st, BRAID_ALREADY_EXISTS,
                       "Existing cache files found: %s. To continue delete the above files.", prefix);
    if (!code) code = bd_dir_make(fs, dir, st);
    if (!code) code = bd_file_open(fs, path, BD_FILE_CREATE_NEW, &file, st);
    if (code == BRAID_ALREADY_EXISTS) code = refuse_locked(fs, path, st);
    if (!code) c->lock_path = bd_strdup(path);
    if (!code) code = bd_file_write(file, text, (size_t)len, st);
    if (!code) code = bd_bundle_writer_open(fs, prefix, NULL, &c->writer, st);
    if (code) {
        BD_STATUS(ignored);
        bd_file_close(file, ignored);
    } else {
        code = bd_file_close(file, st);
    }
    bd_free(path);
    bd_free(dir);
    return code;
}

static void unlock(bd_iterator *it)
{
    cache_iterator *c = iterator_of(it);
    BD_STATUS(ignored);
    if (c->lock_path) bd_file_remove(bd_iterator_fs(it), c->lock_path, ignored);
    bd_free(c->lock_path);
    c->lock_path = NULL;
}

static bd_turn begin_and_pull(bd_iterator *it)
{
    BD_STATUS(st);
    return begin_file(it, st) ? bd_give_error(it, st) : bd_pull(it, it->input);
}

static bd_turn read_file(bd_iterator *it)
{
    BD_STATUS(st);
    cache_iterator *c = iterator_of(it);
    for (int i = 0; i < it->dataset->count; i++) {
        char name[64];
        component_name(it, c->at, i, name);
        braid_code code = bd_bundle_read(c->bundle, name, &it->answer.tensors[i], st);
        if (code == BRAID_NOT_FOUND && i == 0) return bd_give_end(it);
        if (code) return bd_give_error(it, st);
    }
    c->at++;
    return bd_give(it);
}

static bd_turn file_next(bd_iterator *it)
{
    const cache_iterator *c = iterator_of(it);
    if (!c->writes) return bd_turn_on_disk(it, read_file);
    return c->writer ? bd_pull(it, it->input) : bd_turn_on_disk(it, begin_and_pull);
}

// The element is in it->answer.
static bd_turn write_element(bd_iterator *it)
{
    BD_STATUS(st);
    cache_iterator *c = iterator_of(it);
    if (c->at == FILE_ELEMENTS_MAX)
        return bd_give_failure(
            it, BRAID_INVALID_ARGUMENT,
            "Upstream iterator is producing more than %d items, which is more than the cache limit.",
            FILE_ELEMENTS_MAX);
    for (int i = 0; i < it->dataset->count; i++) {
        char name[64];
        component_name(it, c->at, i, name);
        if (bd_bundle_add(c->writer, name, &it->answer.tensors[i], st)) return bd_give_error(it, st);
    }
    c->at++;
    return bd_give(it);
}

static bd_turn finish_file(bd_iterator *it)
{
    BD_STATUS(st);
    cache_iterator *c = iterator_of(it);
    braid_code code = bd_bundle_finish(c->writer, st);
    unlock(it);
    return code ? bd_give_error(it, st) : bd_give_end(it);
}

static bd_turn file_received(bd_iterator *it, bd_iterator *from)
{
    if (from->answer.kind == BD_ANSWER_END) return bd_turn_on_disk(it, finish_file);
    if (from->answer.kind == BD_ANSWER_ERROR) return bd_pass(it, from);
    bd_answer_take(from, it->answer.tensors);
    return bd_turn_on_disk(it, write_element);
}

static void file_close(bd_iterator *it)
{
    cache_iterator *c = iterator_of(it);
    bd_bundle_writer_free(c->writer);
    bd_bundle_close(c->bundle);
    unlock(it);
}

static const bd_dataset_kind file_kind = {
    .name = "FileCache",
    .dataset_size = sizeof(cache_dataset),
    .iterator_size = sizeof(cache_iterator),
    .destroy = destroy,
    .cardinality = bd_cardinality_of_input,
    .open = file_open,
    .next = file_next,
    .received = file_received,
    .close = file_close,
};

// ---- Ops ----

static void cache_run(bd_op_ctx *c)
{
    if (!bd_input_scalar(c, 1, "filename", BRAID_STRING)) return;
    char *prefix = bd_input_text(c, 1, 0);
    if (!prefix) return;
    bool is_file = *prefix;
    bd_resource *given = NULL;
    if (!is_file && c->input_count > 2 && !bd_input_is_dummy(c, 2))
        given = bd_input_resource(c, 2, &cache_type);
    bd_dataset *d = bd_op_failed(c) ? NULL : bd_dataset_over_input(c, is_file ? &file_kind : &memory_kind);
    if (!d) {
        bd_resource_unref(given);
        bd_free(prefix);
        return;
    }
    dataset_of(d)->given = given;
    dataset_of(d)->prefix = prefix;
    bd_output_dataset(c, d);
}

BD_OP(CacheDataset) = {
    .signature = "(input_dataset: variant, filename: string) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = cache_run}),
    .doc =
        "Keeps the elements of a dataset the first time, in files of that prefix or (\"\") in memory, and gives them from there later.",
};

BD_OP(CacheDatasetV2) = {
    .signature = "(input_dataset: variant, filename: string, cache: resource) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = cache_run}),
    .doc = "CacheDataset with a cache in memory that outlives the pipeline.",
};

static void memory_cache_run(bd_op_ctx *c)
{
    bd_output_anonymous(c, "AnonymousMemoryCache", &cache_type, create_cache, NULL);
}

BD_OP(AnonymousMemoryCache) = {
    .signature = "() -> (handle: resource, deleter: variant)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = memory_cache_run}),
    .doc = "A cache in memory for CacheDatasetV2.",
};

static void dummy_cache_run(bd_op_ctx *c)
{
    bd_output_dummy(c, &cache_type);
}

BD_OP(DummyMemoryCache) = {
    .signature = "() -> (handle: resource)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = dummy_cache_run}),
    .doc = "Leaves it to CacheDatasetV2 to make a cache in memory.",
};

static void delete_cache_run(bd_op_ctx *c)
{
    bd_delete_anonymous(c, &cache_type);
}

BD_OP(DeleteMemoryCache) = {
    .signature = "(handle: resource, deleter: variant) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = delete_cache_run}),
    .doc = "Deletes a cache in memory; datasets that hold it keep it.",
};
