// The position of an iterator, and the dataset of the elements after it.
#include "ops/dataset/iterator_place.h"

#include "base/alloc.h"
#include "tensor/tensor_list.h"
#include <string.h>

// ---- What is left ----

typedef struct rest_dataset {
    bd_dataset base;
    int64_t to_skip;
    bool has_ended;
} rest_dataset;

typedef struct rest_iterator {
    bd_iterator base;
    int64_t skipped;
} rest_iterator;

// Opens the input as if this iterator were its first reader.
static braid_code rest_open(bd_iterator *it, braid_status *st)
{
    return bd_iterator_open(it->dataset->inputs[0], it->chain, NULL, 0, &it->input, st);
}

static bd_turn rest_next(bd_iterator *it)
{
    return BD_CONTAINER_OF(it->dataset, rest_dataset, base)->has_ended ? bd_give_end(it)
                                                                       : bd_pull(it, it->input);
}

static bd_turn rest_received(bd_iterator *it, bd_iterator *from)
{
    rest_iterator *r = BD_CONTAINER_OF(it, rest_iterator, base);
    if (from->answer.kind == BD_ANSWER_END || bd_cancellation_is_cancelled(it->chain->token) ||
        r->skipped == BD_CONTAINER_OF(it->dataset, rest_dataset, base)->to_skip)
        return bd_pass(it, from);
    if (from->answer.kind == BD_ANSWER_ELEMENT)
        bd_answer_drop(from);
    else
        braid_status_clear(&from->answer.st);
    r->skipped++;
    return bd_pull(it, from);
}

static const bd_dataset_kind rest_kind = {
    .name = "Rest",
    .dataset_size = sizeof(rest_dataset),
    .iterator_size = sizeof(rest_iterator),
    .open = rest_open,
    .next = rest_next,
    .received = rest_received,
};

braid_code bd_dataset_rest(bd_dataset *d, const bd_iterator_place *from, bd_dataset **out, braid_status *st)
{
    if (from->given == 0 && !from->has_ended) {
        *out = bd_dataset_ref(d);
        return BRAID_OK;
    }
    braid_code code = bd_dataset_new(&rest_kind, BD_COMPONENTS(d), &d, 1, out, st);
    if (code) return code;
    rest_dataset *r = BD_CONTAINER_OF(*out, rest_dataset, base);
    r->to_skip = from->given;
    r->has_ended = from->has_ended;
    return BRAID_OK;
}

// ---- As a variant ----

// The tensor is a vector of int64: FORMAT, given, has_ended, and for each path itself and its two seeds.
#define FORMAT INT64_C(0x42726169645f6974)
enum {
    HEAD = 3,
    PER_PATH = 3
};

bool bd_output_iterator_place(bd_op_ctx *c, const bd_iterator_place *place)
{
    braid_shape shape = bd_shape1(HEAD + PER_PATH * place->seed_count);
    bd_tensor_list *l = bd_tensor_list_new(BRAID_INT64, &BD_SHAPE_UNKNOWN, -1);
    braid_tensor *out = bd_output(c, 0, BRAID_VARIANT, &BD_SCALAR);
    bool ok = out && bd_tensor_list_resize(l, 1) && bd_tensor_alloc(&l->items[0], BRAID_INT64, &shape);
    if (ok) {
        int64_t *words = bd_tensor_i64(&l->items[0]);
        *words++ = FORMAT;
        *words++ = place->given;
        *words++ = place->has_ended;
        for (int64_t i = 0; i < place->seed_count; i++) {
            *words++ = (int64_t)place->seeds[i].path;
            *words++ = place->seeds[i].seeds[0];
            *words++ = place->seeds[i].seeds[1];
        }
        bd_tensor_variant_set(out, 0, &l->base);
    } else if (out) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when saving an iterator");
    }
    bd_variant_unref(&l->base);
    return ok;
}

static const int64_t *words_of(const braid_tensor *t, int64_t *count)
{
    if (t->dtype != BRAID_VARIANT || t->shape.rank != 0) return NULL;
    const bd_tensor_list *l = bd_tensor_list_of(bd_tensor_variant(t)[0]);
    if (!l || l->count != 1 || l->items[0].dtype != BRAID_INT64 || l->items[0].shape.rank != 1) return NULL;
    *count = bd_tensor_count(&l->items[0]);
    const int64_t *words = bd_tensor_i64(&l->items[0]);
    bool ok = *count >= HEAD && (*count - HEAD) % PER_PATH == 0 && words[0] == FORMAT && words[1] >= 0;
    return ok && *count <= HEAD + PER_PATH * BD_PIPELINE_SEEDS_MAX ? words : NULL;
}

bool bd_input_iterator_place(bd_op_ctx *c, int i, bd_iterator_place *place)
{
    int64_t count = 0;
    const int64_t *words = words_of(bd_input(c, i), &count);
    if (!words) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "%s '%s': input %d is no state of an iterator, as SerializeIterator gives it",
                   c->node->op_type, c->node->name, i);
        return false;
    }
    *place = (bd_iterator_place){
        .given = words[1], .has_ended = words[2] != 0, .seed_count = (count - HEAD) / PER_PATH};
    place->seeds = bd_calloc((size_t)place->seed_count, sizeof *place->seeds);
    for (int64_t k = 0; k < place->seed_count; k++) {
        const int64_t *from = words + HEAD + k * PER_PATH;
        place->seeds[k] = (bd_path_seeds){.path = (uint64_t)from[0], .seeds = {from[1], from[2]}};
    }
    return true;
}
