// Ensembles of trees of tf.contrib.boosted_trees: the resource of the ops, and its message.
//
// The last tree is the one that grows. Each change of an ensemble gives it a new stamp; ops that would change
// it name the stamp that they know.
#ifndef BD_OPS_GRADIENT_TREES_ENSEMBLE_H
#define BD_OPS_GRADIENT_TREES_ENSEMBLE_H

#include "base/thread.h"
#include "op/resource.h"
#include "ops/gradient_trees/tree.h"
#include "tensor/charge.h"

typedef struct bd_gbt_metadata {
    int32_t weight_updates, layers;
    bool is_finalized;
} bd_gbt_metadata;

typedef struct bd_gbt_ensemble {
    BD_ARRAY(bd_gbt_tree) trees;
    BD_ARRAY(float) weights; // of the trees; an ensemble that was read may have fewer, and less metadata
    BD_ARRAY(bd_gbt_metadata) metadata;
    bool has_growing_metadata;
    int64_t trees_attempted, layers_attempted;
    BD_ARRAY(int64_t) used_handlers;
    bd_charge charge; // for the trees
} bd_gbt_ensemble;

typedef struct bd_gbt_ensemble_resource {
    bd_resource base;
    bd_mutex mu;
    int64_t stamp; // guarded by mu, and so is the ensemble
    bd_gbt_ensemble ensemble;
} bd_gbt_ensemble_resource;

extern const bd_resource_type bd_gbt_ensemble_type;

// The ensemble in input 0; the caller drops the reference. NULL: the kernel has failed.
bd_gbt_ensemble_resource *bd_gbt_input_ensemble(bd_op_ctx *c);
// The same, locked, where inputs 1 and `next` (0: none) are its stamp and a different one. The caller calls
// bd_gbt_release.
bd_gbt_ensemble_resource *bd_gbt_lock_stamped(bd_op_ctx *c, int next);
void bd_gbt_release(bd_gbt_ensemble_resource *r);

void bd_gbt_ensemble_fini(bd_gbt_ensemble *e);
// Reads a serialized DecisionTreeEnsembleConfig into `e`, which is empty before, and on an error after.
braid_code bd_gbt_ensemble_read(bd_gbt_ensemble *e, const void *data, size_t len, braid_status *st);
void bd_gbt_emit_ensemble(bd_message_out *out, const void *ensemble);

// Checks that each tree has a weight and metadata.
braid_code bd_gbt_ensemble_check(const bd_gbt_ensemble *e, braid_status *st);

// The last tree and its metadata, of an ensemble that has trees and was checked.
bd_gbt_tree *bd_gbt_last_tree(bd_gbt_ensemble *e);
bd_gbt_metadata *bd_gbt_last_metadata(bd_gbt_ensemble *e);
// Whether the next layer begins a tree.
bool bd_gbt_begins_tree(const bd_gbt_ensemble *e);
// Adds a tree without nodes.
bd_gbt_tree *bd_gbt_add_tree(bd_gbt_ensemble *e, float weight);
void bd_gbt_remove_last_tree(bd_gbt_ensemble *e);
void bd_gbt_count_attempt(bd_gbt_ensemble *e);

// Counts `more` bytes than before. ResourceExhausted: the account allows no more.
braid_code bd_gbt_charge_more(bd_gbt_ensemble *e, size_t more, braid_status *st);
// Counts the last tree as large as it is now, and not `more` any longer, which was counted in advance.
void bd_gbt_settle_charge(bd_gbt_ensemble *e, size_t more);

// The serialized message in input `i`, of one element. False: the kernel has failed.
bool bd_gbt_input_message(bd_op_ctx *c, int i, const char *what, const bd_string **message);
// The number in input `i`, of one element. False: the kernel has failed.
bool bd_gbt_input_int64(bd_op_ctx *c, int i, const char *what, int64_t *value);
bool bd_gbt_input_int32(bd_op_ctx *c, int i, const char *what, int32_t *value);
bool bd_gbt_input_bool(bd_op_ctx *c, int i, const char *what, bool *value);
// Makes output `i` a scalar of int64. False: the kernel has failed.
bool bd_gbt_output_int64(bd_op_ctx *c, int i, int64_t value);
bool bd_gbt_output_bool(bd_op_ctx *c, int i, bool value);

#endif
