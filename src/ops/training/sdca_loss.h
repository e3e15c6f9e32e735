// The losses of stochastic dual coordinate ascent: what each makes of a label, its values, its conjugate's,
// and the dual variable that maximizes the objective of one example.
#ifndef BD_OPS_TRAINING_SDCA_LOSS_H
#define BD_OPS_TRAINING_SDCA_LOSS_H

#include <stdbool.h>

// What the dual variable of one example is updated from.
typedef struct bd_sdca_point {
    double label, weight; // of the example
    double dual;          // its dual variable
    double wx;            // the prediction of the weights with all updates so far
    double norm;          // weight times squared norm of the example times loss partitions, over l2
} bd_sdca_point;

typedef struct bd_sdca_loss {
    const char *name; // attr loss_type
    // Makes a label what the loss computes with; false: it is none.
    bool (*convert)(float *label);
    const char *labels;                                       // which labels `convert` takes, for its error
    double (*update)(const bd_sdca_point *p);                 // the new dual variable
    double (*primal)(double wx, double label, double weight); // the loss
    double (*conjugate)(double dual, double label, double weight); // of the loss, at -dual
    double (*derivative)(double wx, double label);                 // of the loss, by wx
    double smoothness; // 1 / the Lipschitz constant of the derivative; 0: it has none
} bd_sdca_loss;

// The loss of that name; NULL: there is none.
const bd_sdca_loss *bd_sdca_loss_find(const char *name);

#endif
