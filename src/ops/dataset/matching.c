// MatchingFilesDataset: the names of files that match patterns.
#include "base/alloc.h"
#include "io/glob.h"
#include "ops/dataset/files.h"
#include <string.h>

typedef struct matching_dataset {
    bd_dataset base;
    bd_file_names patterns;
} matching_dataset;

typedef struct matching_iterator {
    bd_iterator base;
    int64_t at;         // the index of the next pattern
    bd_name_list found; // of the one before, in order
    size_t given;       // of these
    bool has_any;       // a file was given
} matching_iterator;

static matching_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, matching_dataset, base);
}

static matching_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, matching_iterator, base);
}

static void destroy(bd_dataset *d)
{
    bd_file_names_fini(&dataset_of(d)->patterns);
}

static void matching_close(bd_iterator *it)
{
    bd_name_list_fini(&iterator_of(it)->found);
}

static bool is_file(const bd_fs *fs, const char *path)
{
    BD_STATUS(ignored);
    bd_file_info info;
    return !bd_file_get_info(fs, path, &info, ignored) && !info.is_dir;
}

static bd_turn find_next(bd_iterator *it)
{
    matching_iterator *m = iterator_of(it);
    const bd_file_names *patterns = &dataset_of(it->dataset)->patterns;
    for (;;) {
        BD_STATUS(st);
        while (m->given < m->found.len) {
            const char *path = m->found.items[m->given++];
            if (!is_file(bd_iterator_fs(it), path)) continue;
            m->has_any = true;
            return bd_give_bytes(it, path, strlen(path));
        }
        if (m->at == patterns->count) break;
        bd_name_list_fini(&m->found);
        m->given = 0;
        braid_code code = bd_glob(bd_iterator_fs(it), patterns->items[m->at++], &m->found, st);
        if (code && code != BRAID_NOT_FOUND) return bd_give_error(it, st);
    }
    if (m->has_any) return bd_give_end(it);
    it->has_ended = true;
    return bd_give_failure(it, BRAID_NOT_FOUND, "Don't find any matched files");
}

static bd_turn matching_next(bd_iterator *it)
{
    return bd_turn_on_disk(it, find_next);
}

static const bd_dataset_kind matching_kind = {
    .name = "MatchingFiles",
    .dataset_size = sizeof(matching_dataset),
    .iterator_size = sizeof(matching_iterator),
    .destroy = destroy,
    .next = matching_next,
    .close = matching_close,
};

static void matching_run(bd_op_ctx *c)
{
    static const braid_dtype type = BRAID_STRING;
    BD_STATUS(st);
    bd_dataset *d;
    bd_file_names patterns;
    if (!bd_input_file_names(c, 0, &patterns)) return;
    if (bd_dataset_new(&matching_kind, (bd_components){1, &type, &BD_SCALAR}, NULL, 0, &d, st)) {
        bd_op_fail_status(c, st);
        bd_file_names_fini(&patterns);
        return;
    }
    dataset_of(d)->patterns = patterns;
    bd_output_dataset(c, d);
}

static braid_code matching_shape(bd_shape_ctx *c, braid_status *st)
{
    if (c->inputs[0].rank > 1)
        return bd_shape_ctx_fail(c, st, "Shape must be at most rank 1 but is rank %d", c->inputs[0].rank);
    return bd_shape_fn_scalar(c, st);
}

#define MATCHING_OP                                                                                          \
    {                                                                                                        \
        .signature = "(patterns: string) -> (handle: variant)",                                              \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = matching_shape,                         \
        .kernels = BD_KERNELS({.run = matching_run}),                                                        \
        .doc =                                                                                               \
            "The names of files that match patterns, one pattern after the other, each in order; NotFound "  \
            "when there is none."                                                                            \
    }

BD_OP(MatchingFilesDataset) = MATCHING_OP;
BD_OP(ExperimentalMatchingFilesDataset) = MATCHING_OP;
