// One step of a long short-term memory (LSTM) for a batch, forwards and back, over plain memory.
#ifndef BD_OPS_NN_LSTM_CELL_H
#define BD_OPS_NN_LSTM_CELL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bd_lstm {
    int64_t batch, input, cell;
    float forget_bias;
    float clip;        // limits the cell's state; 0 and below: no limit
    bool has_peephole; // gates see the cell's state
    bool
        // the columns of gates in weights and biases: input, forget, cell, output; else input, cell, forget,
        // output
        forgets_first;
    const float *w;               // [input + cell, 4 cell]
    const float *b;               // [4 cell]
    const float *wci, *wcf, *wco; // [cell]: weights of the peephole
} bd_lstm;

// What a step makes, each [batch, cell]: the gates, the cell's state `cs` and what is seen of it `co`, and
// the output `h`.
typedef struct bd_lstm_step {
    float *i, *cs, *f, *o, *ci, *co, *h;
} bd_lstm_step;

// Elements of memory that a step needs for its time.
int64_t bd_lstm_scratch(const bd_lstm *m);

// `x` is [batch, input]; `cs_prev` and `h_prev` are the step's before.
void bd_lstm_run(const bd_lstm *m, const float *x, const float *cs_prev, const float *h_prev,
                 const bd_lstm_step *out, float *scratch);

// Sums of gradients over steps, as the weights above; those of the peephole are not touched without one.
typedef struct bd_lstm_sums {
    float *wci, *wcf, *wco;
} bd_lstm_sums;

// The gradients of a step by those of its `cs` and `h`: of the gates before their activations `dgates`
// [batch, 4 cell], and of the state before, which may be `cs_grad`'s memory.
void bd_lstm_back(const bd_lstm *m, const float *cs_prev, const bd_lstm_step *step, const float *cs_grad,
                  const float *h_grad, float *dgates, float *cs_prev_grad, const bd_lstm_sums *sums);

// Rows [x, h] of a batch, [batch, input + cell].
void bd_lstm_join(const bd_lstm *m, const float *x, const float *h, float *xh);

#endif
