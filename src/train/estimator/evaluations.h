// Evaluations beside training: of the process that trains, and of an evaluator.
#ifndef BD_TRAIN_EVALUATIONS_H
#define BD_TRAIN_EVALUATIONS_H

#include "train/estimator/estimator.h"

// Evaluates a checkpoint and calls the exporters. Errors of both are returned.
braid_code train_evaluate_and_export(braid_estimator *e, const braid_eval_spec *eval, const char *checkpoint,
                                     bool is_final, braid_status *st);

// The mark of a chief that has ended, a file of the model directory, for evaluators: removed when training
// begins, made when it has ended without an error.
braid_code train_mark_begin(const braid_estimator *e, braid_status *st);
braid_code train_mark_end(const braid_estimator *e, braid_status *st);
bool train_has_end_mark(const braid_estimator *e);

// The work of an evaluator (braid_train_and_evaluate).
braid_code train_run_evaluator(braid_estimator *e, int64_t max_steps, const braid_eval_spec *eval,
                               braid_status *st);

#endif
