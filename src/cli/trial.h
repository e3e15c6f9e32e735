// Trials: a program trained on a cluster of processes of this machine, for its curve.
#ifndef BD_CLI_TRIAL_H
#define BD_CLI_TRIAL_H

#include "cluster_model.h"
#include "curves.h"

typedef struct bd_trial {
    int ps, workers;
    const char *algorithm; // added to the arguments as --algorithm=NAME
    char *const *program;  // with its arguments, up to NULL
    const char *dir;       // made; gets the curves of the workers, and the output in the file "log"
} bd_trial;

// Says that there is no such algorithm, and which there are, on standard error.
void bd_trial_refuse_algorithm(const char *command, const char *name);

// Runs it by `braid run` and reads its curve. Returns NULL, or the text of the error, which the caller frees.
char *bd_trial_run(const bd_trial *trial, bd_curve *curve);

// The costs of a cluster as a trial of one worker and one parameter server shows them: the time to compute a
// gradient, the bytes of the model, and the rate at which the parameter server gets these and applies
// updates. Costs of requests stay as they are in `costs`.
void bd_trial_costs(const bd_curve *curve, bd_cluster_costs *costs);

#endif
