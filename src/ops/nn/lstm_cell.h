// One step of a long short-term memory (LSTM) for a batch, forward and backward, over plain memory.
#ifndef BD_OPS_NN_LSTM_CELL_H
#define BD_OPS_NN_LSTM_CELL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bd_lstm {
    int64_t batch, input, cell;
    float forget_bias;
    float clip;        // clips the cell's state to [-clip, clip]; 0 or less: no limit
    bool has_peephole; // peephole connections: gates depend on the cell's state
    // The order of the gates' columns in weights and biases. True: input, forget, cell, output; false: input,
    // cell, forget, output.
    bool forgets_first;
    const float *w;               // [input + cell, 4 cell]
    const float *b;               // [4 cell]
    const float *wci, *wcf, *wco; // [cell]: peephole weights
} bd_lstm;

// The results of a step, each [batch, cell]: the gates i, f, o, the cell's new input `ci`, its state `cs`,
// `co` = tanh(cs), and the output `h`.
typedef struct bd_lstm_step {
    float *i, *cs, *f, *o, *ci, *co, *h;
} bd_lstm_step;

// The number of floats of scratch memory for one step.
int64_t bd_lstm_scratch(const bd_lstm *m);

// Computes one step. `x` is [batch, input]; `cs_prev` and `h_prev` are results of the previous step.
void bd_lstm_run(const bd_lstm *m, const float *x, const float *cs_prev, const float *h_prev,
                 const bd_lstm_step *out, float *scratch);

// Gradients of the peephole weights, summed over steps; not used without peepholes.
typedef struct bd_lstm_sums {
    float *wci, *wcf, *wco;
} bd_lstm_sums;

// Computes the gradients of a step from the gradients of its `cs` and `h`: `dgates` [batch, 4 cell], of the
// gates before their activations, and `cs_prev_grad`, of the previous state, which may be the memory of
// `cs_grad`.
void bd_lstm_back(const bd_lstm *m, const float *cs_prev, const bd_lstm_step *step, const float *cs_grad,
                  const float *h_grad, float *dgates, float *cs_prev_grad, const bd_lstm_sums *sums);

// Writes the rows [x, h] of the batch to `xh` [batch, input + cell].
void bd_lstm_join(const bd_lstm *m, const float *x, const float *h, float *xh);

#endif
